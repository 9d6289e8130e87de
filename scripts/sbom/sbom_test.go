package main

import (
	"bytes"
	"debug/buildinfo"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// server is the product as this tree would build it, without building it.
func server(t *testing.T) *product {
	t.Helper()
	t.Chdir("../..")
	folders, err := moduleFolders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := &product{
		info:    &buildinfo.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "github.com/openqueue/waitingroom"}},
		sha256:  strings.Repeat("0", 64),
		version: "0.1.0-dev.20261121153910+gadef9a8", built: time.Unix(1795275539, 0).UTC(),
	}
	for name := range folders {
		path, version, _ := strings.Cut(name, "@")
		p.info.Deps = append(p.info.Deps, &debug.Module{Path: path, Version: version, Sum: "h1:c3Vt"})
	}
	if len(p.info.Deps) == 0 {
		t.Fatal("the server needs no modules: has it moved?")
	}
	// Not one part without a licence that is known.
	if p.parts, err = findParts(t.Context(), p.info); err != nil {
		t.Fatal(err)
	}
	return p
}

func text(t *testing.T, fill func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := fill(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTheServersParts(t *testing.T) {
	p := server(t)
	bom := text(t, p.writeBOM)
	if bom != text(t, p.writeBOM) {
		t.Error("written twice, it is not the same")
	}
	var got cdx.BOM
	if err := cdx.NewBOMDecoder(strings.NewReader(bom), cdx.BOMFileFormatJSON).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.Metadata.Timestamp != "2026-11-21T15:38:59Z" || !regexp.MustCompile(`^urn:uuid:[0-9a-f-]{36}$`).MatchString(got.SerialNumber) {
		t.Errorf("made at %q, named %q", got.Metadata.Timestamp, got.SerialNumber)
	}
	seen := make(map[string]cdx.Component)
	for _, c := range *got.Components {
		seen[c.Name] = c
	}
	if len(seen) != len(p.info.Deps)+2 {
		t.Errorf("%d components for %d modules, Go itself and uPlot", len(seen), len(p.info.Deps))
	}
	for name, purl := range map[string]string{
		"stdlib": "pkg:golang/stdlib@1.26.8", "uplot": "pkg:npm/uplot@",
		"github.com/labstack/echo/v4": "pkg:golang/github.com/labstack/echo/v4@v4.",
	} {
		if !strings.HasPrefix(seen[name].PackageURL, purl) || seen[name].Licenses == nil {
			t.Errorf("%s: %+v, want %s", name, seen[name], purl)
		}
	}

	licences := text(t, p.writeLicences)
	for _, part := range p.parts {
		if !strings.Contains(licences, "\n"+part.name+" "+part.version+" (") {
			t.Errorf("the licence of %s is not among the texts", part.name)
		}
	}
	for _, words := range []string{"Apache License", "Permission is hereby granted", "Neither the name of"} {
		if !strings.Contains(licences, words) {
			t.Errorf("no licence says %q", words)
		}
	}
}

func TestRecognise(t *testing.T) {
	const (
		mit  = "Permission is hereby granted, free of\n   charge, to any person, without restriction"
		bsd2 = "Redistribution and use in source and binary forms\nTHIS SOFTWARE IS PROVIDED BY"
	)
	tests := []struct{ name, text, want string }{
		{"MIT, over two lines", mit, "MIT"},
		{"BSD, two clauses", bsd2, "BSD-2-Clause"},
		{"BSD, three clauses", bsd2 + " Neither the name of", "BSD-3-Clause"},
		{"two in one file", mit + "\nApache License, Version 2.0", "Apache-2.0 AND MIT"},
		{"the GPL", "GNU GENERAL PUBLIC LICENSE", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := recognise([]byte(tt.text)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAPartWithoutALicenceIsRefused(t *testing.T) {
	p := part{name: "x", version: "v1.0.0", folder: t.TempDir()}
	if err := os.WriteFile(filepath.Join(p.folder, "NOTICE"), []byte("Apache License Version 2.0"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.readLicence(); err == nil {
		t.Errorf("taken for %s, of %q", p.licence, p.files)
	}
}
