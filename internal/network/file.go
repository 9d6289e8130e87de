package network

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/oschwald/maxminddb-golang/v2"
)

// looksAt is how many records of a new file are read to find one that has an AS.
const looksAt = 1_000

// as is what a record of a file says, in the format of GeoLite2 ASN and DB-IP ASN.
type as struct {
	Number uint32 `maxminddb:"autonomous_system_number"`
	Name   string `maxminddb:"autonomous_system_organization"`
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
	looked, found := 0, as{}
	for record := range reader.Networks() {
		if err := record.Decode(&found); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if looked++; found.Number > 0 || looked == looksAt {
			break
		}
	}
	if found.Number == 0 {
		return fmt.Errorf("%s has no autonomous_system_number: it must be a database of AS numbers", f.name)
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

// find returns the AS of an address; the zero value if it is not known.
func (f *File) find(a netip.Addr) (found as) {
	if f != nil {
		if err := f.reader.Load().Lookup(a).Decode(&found); err != nil {
			return as{}
		}
	}
	return found
}
