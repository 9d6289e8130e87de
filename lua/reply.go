package lua

import (
	"fmt"
	"strconv"
)

// numbers reads a reply of integers only, or of such in decimal, as hashes hold them.
func numbers(reply any) ([]int64, error) {
	list, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("lua: reply is %T, want a list", reply)
	}
	out := make([]int64, len(list))
	for i, v := range list {
		var err error
		switch v := v.(type) {
		case int64:
			out[i] = v
		case string:
			out[i], err = strconv.ParseInt(v, 10, 64)
		default:
			err = fmt.Errorf("a %T", v)
		}
		if err != nil {
			return nil, fmt.Errorf("lua: reply[%d] is no integer: %w", i, err)
		}
	}
	return out, nil
}

// reader reads the numbers of a reply one after the other. Who reads them says so how
// many there have to be, and nobody has to count them.
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
