package network_test

import (
	"bytes"
	"encoding/binary"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/parts"
)

// record is what a database says of a network: texts and numbers by name.
type record map[string]any

// writeDatabase writes a file in the MMDB format, version 2: a tree of the bits of addresses, their records, and what the file says of
// itself. The format is described at https://maxmind.github.io/MaxMind-DB/.
func writeDatabase(t testing.TB, records map[string]record) string {
	t.Helper()
	const nothing = -1
	nodes := [][2]int{{nothing, nothing}} // a number below 0 is nothing, or -2 - the place of a record
	var data bytes.Buffer
	for _, network := range slices.Sorted(maps.Keys(records)) {
		p := netip.MustParsePrefix(network)
		bits, address := p.Bits(), p.Addr().As16()
		if p.Addr().Is4() { // IPv4 lies below ::/96
			bits += 96
			address[10], address[11] = 0, 0
		}
		at := 0
		for i := range bits {
			bit := address[i/8] >> (7 - i%8) & 1
			switch {
			case i == bits-1:
				nodes[at][bit] = -2 - data.Len()
			case nodes[at][bit] == nothing:
				nodes = append(nodes, [2]int{nothing, nothing})
				nodes[at][bit] = len(nodes) - 1
			}
			at = nodes[at][bit]
		}
		encode(&data, records[network])
	}
	var file bytes.Buffer
	for _, node := range nodes {
		for _, to := range node {
			if to == nothing {
				to = len(nodes)
			} else if to < 0 {
				to = len(nodes) + 16 - 2 - to
			}
			file.Write(binary.BigEndian.AppendUint32(nil, uint32(to))[1:])
		}
	}
	file.Write(make([]byte, 16))
	file.Write(data.Bytes())
	file.WriteString("\xab\xcd\xefMaxMind.com")
	encode(&file, record{
		"binary_format_major_version": uint16(2), "binary_format_minor_version": uint16(0), "build_epoch": uint64(1), "database_type": "Test-ASN",
		"description": record{}, "languages": []string{}, "ip_version": uint16(6), "node_count": uint32(len(nodes)), "record_size": uint16(24),
	})
	name := filepath.Join(t.TempDir(), "asn.mmdb")
	parts.Must(t, os.WriteFile(name, file.Bytes(), 0o600))
	return name
}

// encode appends a value: its type in three bits and its size in five, and then itself.
func encode(to *bytes.Buffer, value any) {
	switch v := value.(type) {
	case string:
		to.WriteByte(2<<5 | byte(min(len(v), 29)))
		if len(v) >= 29 {
			to.WriteByte(byte(len(v) - 29))
		}
		to.WriteString(v)
	case uint16:
		to.Write([]byte{5<<5 | 2, byte(v >> 8), byte(v)})
	case uint32:
		to.WriteByte(6<<5 | 4)
		to.Write(binary.BigEndian.AppendUint32(nil, v))
	case uint64:
		to.Write([]byte{8, 9 - 7})
		to.Write(binary.BigEndian.AppendUint64(nil, v))
	case []string:
		to.Write([]byte{0, 11 - 7})
	case record:
		to.WriteByte(7<<5 | byte(len(v)))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			encode(to, key)
			encode(to, v[key])
		}
	}
}
