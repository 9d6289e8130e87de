package lua

import (
	"encoding/binary"
	"fmt"
)

// numbers reads a reply of integers only: a list, or a string of 8 bytes for each, as pack of reply.lua makes it.
func numbers(reply any) ([]int64, error) {
	switch reply := reply.(type) {
	case string:
		if len(reply)%8 != 0 {
			return nil, fmt.Errorf("lua: a packed reply has %d bytes", len(reply))
		}
		out := make([]int64, len(reply)/8)
		for i := range out {
			out[i] = int64(binary.BigEndian.Uint64([]byte(reply[8*i : 8*i+8])))
		}
		return out, nil
	case []any:
		out := make([]int64, len(reply))
		for i, v := range reply {
			n, ok := v.(int64)
			if !ok {
				return nil, fmt.Errorf("lua: reply[%d] is no integer: a %T", i, v)
			}
			out[i] = n
		}
		return out, nil
	default:
		return nil, fmt.Errorf("lua: reply is %T, want integers", reply)
	}
}

// reader reads the numbers of a reply one after the other. Its end reports a reply that has more or fewer numbers than
// were read.
type reader struct {
	left  []int64
	short bool
}

// next returns the next number; 0 where there is none, which end reports.
func (c *reader) next() (n int64) {
	if c.short = c.short || len(c.left) == 0; !c.short {
		n, c.left = c.left[0], c.left[1:]
	}
	return n
}

// more reports whether there are numbers that were not read.
func (c *reader) more() bool { return len(c.left) > 0 && !c.short }

// end returns an error unless all numbers were read, and no more.
func (c *reader) end(script, part string) error {
	if c.short || len(c.left) > 0 {
		return fmt.Errorf("lua: %s: the reply has %s of another length", script, part)
	}
	return nil
}
