package network

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oschwald/maxminddb-golang/v2"
)

// looksAt is how many records of a new file are read to find one that has an AS.
const looksAt = 1_000

// as is an autonomous system.
type as struct {
	Number uint32
	Name   string
}

// row is what a record of a file says.
type row struct {
	// GeoLite2 ASN and DB-IP ASN.
	Number       uint32 `maxminddb:"autonomous_system_number"`
	Organization string `maxminddb:"autonomous_system_organization"`
	// IPinfo: "AS15169", and the name by one of two keys.
	ASN    string `maxminddb:"asn"`
	Name   string `maxminddb:"name"`
	ASName string `maxminddb:"as_name"`
}

// as returns the zero value if the row has none.
func (r row) as() as {
	if r.Number == 0 && len(r.ASN) > len("AS") && strings.EqualFold(r.ASN[:2], "AS") {
		if number, err := strconv.ParseUint(r.ASN[2:], 10, 32); err == nil {
			r.Number = uint32(number)
		}
	}
	if r.Number == 0 {
		return as{}
	}
	return as{r.Number, cmp.Or(r.Organization, r.ASName, r.Name)}
}

// File knows the AS of addresses from a file in the MMDB format. A nil *File knows none. It is safe for concurrent use.
type File struct {
	name    string
	reader  atomic.Pointer[maxminddb.Reader]
	written time.Time // when the file in use was written; refresh alone uses it
}

// OpenFile reads a file.
func OpenFile(name string) (*File, error) {
	f := &File{name: name}
	return f, f.read()
}

// read reads the file if it was written since it was read last. One that cannot be read is read again the next time: it may be
// half written, and completed within the same tick of the file system's clock. It is read as a whole: to map it into memory
// would end the process if somebody shortens the file.
func (f *File) read() error {
	about, err := os.Stat(f.name)
	if err != nil || about.ModTime().Equal(f.written) {
		return err
	}
	text, err := os.ReadFile(f.name)
	if err != nil {
		return err
	}
	reader, err := maxminddb.OpenBytes(text)
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	looked, found := 0, row{}
	for record := range reader.Networks() {
		if err := record.Decode(&found); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if looked++; found.as().Number > 0 || looked == looksAt {
			break
		}
	}
	if found.as().Number == 0 {
		return fmt.Errorf("%s has neither autonomous_system_number nor asn: it must be a database of AS numbers", f.name)
	}
	f.reader.Store(reader)
	f.written = about.ModTime()
	return nil
}

// refresh reads the file again if it was written since. While it is gone or cannot be read, the one before stays in use.
func (f *File) refresh(log *slog.Logger) {
	if f == nil {
		return
	}
	if err := f.read(); err != nil && !os.IsNotExist(err) {
		log.Error("the file of AS numbers cannot be read anew: the one from before is used", "error", err)
	}
}

// AS returns the AS of an address, such as AS64500; "" if it is not known.
func (f *File) AS(a netip.Addr) string {
	if by := f.find(a); by.Number > 0 {
		return fmt.Sprint("AS", by.Number)
	}
	return ""
}

// find returns the AS of an address; the zero value if it is not known.
func (f *File) find(a netip.Addr) as {
	var found row
	if f == nil || f.reader.Load().Lookup(a).Decode(&found) != nil {
		return as{}
	}
	return found.as()
}
