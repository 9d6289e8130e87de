// Command sbom writes down what is in a binary of queue-server: which modules, in
// which versions, under which licences (CycloneDX); and the texts of the licences,
// which must go where the binary goes.
//
// The modules are those that the binary itself names. A licence that is not
// recognised is an error, so that nothing is passed on by oversight.
//
// Usage: sbom -version 0.1.0 -time 1795275539 -binary queue-server -out sbom.json -licences licences.txt
//
// To be run at the top of the project, with the binary's GOOS and GOARCH. The same
// input gives the same bytes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("sbom", flag.ContinueOnError)
	version := flags.String("version", "", "the binary's `version`")
	built := flags.Int64("time", 0, "when it counts as built, in Unix `seconds`")
	binary := flags.String("binary", "", "the `file` to look into")
	out := flags.String("out", "", "the `file` for the bill of materials")
	licences := flags.String("licences", "", "the `file` for the texts of the licences")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *version == "" || *binary == "" || *out == "" || *licences == "" {
		return errors.New("-version, -binary, -out and -licences are needed")
	}
	p, err := readProduct(*binary)
	if err != nil {
		return err
	}
	p.version, p.built = *version, time.Unix(*built, 0).UTC()
	if p.parts, err = findParts(ctx, p.info); err != nil {
		return err
	}
	if err := write(*out, p.writeBOM); err != nil {
		return err
	}
	return write(*licences, p.writeLicences)
}

// write fills a file.
func write(name string, fill func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}
