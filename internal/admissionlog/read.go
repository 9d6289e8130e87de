package admissionlog

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLine bounds a line, in bytes.
const maxLine = 1 << 16

// Run is the log of one run of a server.
type Run struct {
	Name  string
	Files []File
	Lines []Line
	// Torn is where the log ends in the middle of what was written together, as it does when the machine stops; "" if it does not.
	Torn string
}

// File is one file of it, with the SHA-256 of what is in it, not compressed.
type File struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	begin  Line
	lines  []Line
	torn   bool
	end    Chain
}

// Read reads the logs in some folders, ordered by the name of the run, and says in sentences what is wrong with their form.
func Read(folders ...string) (runs []Run, faults []string, err error) {
	byRun := map[string][]*File{}
	for _, folder := range folders {
		names, err := filepath.Glob(filepath.Join(folder, "admissions-*.jsonl*"))
		if err != nil {
			return nil, nil, err
		}
		if len(names) == 0 {
			faults = append(faults, fmt.Sprintf("%s has no log of admissions", folder))
		}
		for _, name := range names {
			f, fault, err := readFile(name)
			if err != nil {
				return nil, nil, err
			}
			if fault != "" {
				faults = append(faults, fault)
			}
			if f != nil {
				byRun[f.begin.Run] = append(byRun[f.begin.Run], f)
			}
		}
	}
	for name, files := range byRun {
		slices.SortStableFunc(files, func(a, b *File) int { return cmp.Compare(a.begin.Part, b.begin.Part) })
		run := Run{Name: name}
		for i, f := range files {
			switch {
			case f.begin.Part != i+1:
				faults = append(faults, fmt.Sprintf("run %s: file %d is missing, or is there twice", name, i+1))
			case i > 0 && f.begin.Prev != files[i-1].end.String():
				faults = append(faults, fmt.Sprintf("%s does not go on where %s ends: lines of one of them are gone or changed", f.Name, files[i-1].Name))
			}
			if f.torn {
				run.Torn = f.Name
			}
			run.Files, run.Lines = append(run.Files, *f), append(run.Lines, f.lines...)
		}
		runs = append(runs, run)
	}
	slices.SortFunc(runs, func(a, b Run) int { return cmp.Compare(a.Name, b.Name) })
	return runs, faults, nil
}

// readFile reads one file; nil if it has no first line.
func readFile(name string) (f *File, fault string, err error) {
	from, err := os.Open(name)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = from.Close() }() // it was only read
	var text io.Reader = from
	if strings.HasSuffix(name, ".gz") {
		if text, err = gzip.NewReader(from); err != nil {
			return nil, fmt.Sprintf("%s cannot be decompressed: %v", name, err), nil
		}
	}
	sum := sha256.New()
	lines := bufio.NewReaderSize(io.TeeReader(text, sum), maxLine)
	f = &File{Name: filepath.Base(name)}
	for row := 1; ; row++ {
		line, err := lines.ReadSlice('\n')
		if err != nil { // what could be read of a part that is cut are its first lines
			cut := errors.Is(err, io.ErrUnexpectedEOF)
			if f.torn = cut || len(line) > 0; !cut && !errors.Is(err, io.EOF) {
				fault = fmt.Sprintf("%s, line %d, cannot be read: %v", f.Name, row, err)
			}
			break
		}
		line = line[:len(line)-1]
		one := Line{File: f.Name, Row: row}
		if err := json.Unmarshal(line, &one); err != nil {
			fault = fmt.Sprintf("%s, line %d, is cut or damaged: %v", f.Name, row, err)
		}
		if row == 1 {
			if one.Kind != Begin {
				return nil, f.Name + " does not begin with its first line", nil
			}
			f.begin = one
			before, err := base64.RawURLEncoding.DecodeString(one.Prev)
			if copy(f.end[:], before); err != nil {
				fault = f.Name + " does not say where it goes on"
			}
		}
		if one.Kind == Head {
			one.Hash = f.end.String()
		}
		f.end = f.end.Next(line)
		f.lines = append(f.lines, one)
	}
	if len(f.lines) == 0 {
		return nil, f.Name + " is empty", nil
	}
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return f, fault, nil
}
