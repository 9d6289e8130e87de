package lua

import (
	"strings"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// slots is how many slots Redis Cluster has.
const slots = 16_384

// slotOf is the slot of a key: CRC-16/XMODEM of its hash tag.
func slotOf(key string) int {
	if _, rest, found := strings.Cut(key, "{"); found {
		if tag, _, found := strings.Cut(rest, "}"); found && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for i := range len(key) {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^key[i]]
	}
	return int(crc) % slots
}

// partitionOf is which part of the slots a key's slot is in. Nodes have ranges of slots
// as a rule, so a node that is away takes few partitions with it.
func partitionOf(key string) int { return slotOf(key) * limit.Partitions / slots }

var crcTable = func() (table [256]uint16) {
	const polynomial = 0x1021
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc >> 15
			crc = crc<<1 ^ carry*polynomial
		}
		table[i] = crc
	}
	return table
}()
