package main

import (
	"bufio"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// ruler is how wide the lines are between the texts of licences.
const ruler = 80

// product is a binary and what is in it.
type product struct {
	info    *buildinfo.BuildInfo
	sha256  string
	version string
	built   time.Time
	parts   []part
}

// readProduct reads what a binary says of itself.
func readProduct(binary string) (*product, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(binary)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	_ = f.Close() // it was only read
	if err != nil {
		return nil, err
	}
	return &product{info: info, sha256: hex.EncodeToString(sum.Sum(nil))}, nil
}

// setting returns one of the binary's build settings, such as GOOS.
func (p *product) setting(key string) string {
	for _, s := range p.info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// writeBOM writes the bill of materials, in CycloneDX's JSON.
func (p *product) writeBOM(w io.Writer) error {
	main := cdx.Component{
		BOMRef: "queue-server", Type: cdx.ComponentTypeApplication, Name: "queue-server", Version: p.version,
		PackageURL: "pkg:golang/" + p.info.Main.Path + "@" + strings.ReplaceAll(p.version, "+", "%2B") +
			"?goarch=" + p.setting("GOARCH") + "&goos=" + p.setting("GOOS") + "#" + strings.TrimPrefix(command, "./"),
		Licenses: licensed("Apache-2.0"),
		Hashes:   &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: p.sha256}},
	}
	components := make([]cdx.Component, 0, len(p.parts))
	needs := make([]string, 0, len(p.parts))
	for _, part := range p.parts {
		c := cdx.Component{
			BOMRef: part.purl, Type: cdx.ComponentTypeLibrary, Name: part.name, Version: part.version,
			Scope: cdx.ScopeRequired, PackageURL: part.purl, Licenses: licensed(part.licence),
		}
		// go.sum's sum is a SHA-256 too: of the list of the module's files and their sums.
		if text, is := strings.CutPrefix(part.sum, "h1:"); is {
			sum, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return fmt.Errorf("%s: the sum is none: %w", part.name, err)
			}
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
		}
		components = append(components, c)
		needs = append(needs, part.purl)
	}
	bom := cdx.NewBOM()
	// A name of its own, which must not be another at each run: it is the binary's.
	bom.SerialNumber = uuid.NewHash(sha256.New(), uuid.NameSpaceURL, []byte("sha256:"+p.sha256), 5).URN()
	bom.Metadata = &cdx.Metadata{
		Timestamp: p.built.Format(time.RFC3339),
		Component: &main,
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &needs}}
	return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
}

// licensed names a licence, or several that all hold.
func licensed(spdx string) *cdx.Licenses {
	if strings.Contains(spdx, and) {
		return &cdx.Licenses{{Expression: spdx}}
	}
	return &cdx.Licenses{{License: &cdx.License{ID: spdx}}}
}

// writeLicences writes the texts of all parts' licences.
func (p *product) writeLicences(w io.Writer) error {
	out := bufio.NewWriter(w)
	_, _ = fmt.Fprintf(out, "queue-server %s has these parts of others in it. What follows are their licences.\n", p.version)
	for _, part := range p.parts {
		for _, name := range part.files {
			text, err := os.ReadFile(filepath.Join(part.folder, name))
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(out, "\n%[1]s\n%[2]s %[3]s (%[4]s): %[5]s\n%[1]s\n\n%[6]s\n",
				strings.Repeat("=", ruler), part.name, part.version, part.licence, name, strings.TrimSpace(string(text)))
		}
	}
	return out.Flush()
}
