package release

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// bill is what of a bill of materials the tests look at.
type bill struct {
	SerialNumber string `json:"serialNumber"`
	Metadata     struct {
		Timestamp string `json:"timestamp"`
	} `json:"metadata"`
	Components []struct {
		Name     string `json:"name"`
		Purl     string `json:"purl"`
		Licenses []struct {
			Expression string `json:"expression"`
			License    struct {
				ID string `json:"id"`
			} `json:"license"`
		} `json:"licenses"`
		Hashes []struct {
			Content string `json:"content"`
		} `json:"hashes"`
	} `json:"components"`
}

// built builds queue-server in a folder of its sources.
func built(t *testing.T, folder string) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "queue-server")
	do(t, folder, "go", "build", "-buildvcs=false", "-o", binary, "./cmd/queue-server")
	return binary
}

// listed runs sbom.sh in the folder. It returns the bill of materials, the licences, and
// what the script says when it fails.
func listed(t *testing.T, folder, binary string) (bom, licences, failure string) {
	t.Helper()
	to := t.TempDir()
	files := []string{filepath.Join(to, "bom.json"), filepath.Join(to, "licences.txt")}
	cmd := exec.CommandContext(t.Context(), "scripts/sbom.sh", binary, "0.1.0-dev.20261121153910+gadef9a8", at, files[0], files[1])
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", "", string(out)
	}
	return do(t, to, "cat", files[0]), do(t, to, "cat", files[1]), ""
}

func parsed(t *testing.T, text string) (b bill) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// Not one part of the server is without a licence that is known.
func TestBillOfMaterials(t *testing.T) {
	binary := built(t, "../..")
	text, licences, failure := listed(t, "../..", binary)
	if failure != "" {
		t.Fatal(failure)
	}
	again, _, _ := listed(t, "../..", binary)
	if text != again {
		t.Error("written twice, it is not the same")
	}
	bom := parsed(t, text)
	if bom.Metadata.Timestamp != "2026-11-21T15:38:59Z" || !regexp.MustCompile(`^urn:uuid:[0-9a-f-]{36}$`).MatchString(bom.SerialNumber) {
		t.Errorf("made at %q, named %q", bom.Metadata.Timestamp, bom.SerialNumber)
	}
	modules := strings.Fields(do(t, "../..", "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./cmd/queue-server"))
	known := map[string]string{"stdlib": "BSD-3-Clause", "uplot": "MIT"}
	for _, m := range modules {
		known[m] = ""
	}
	known["github.com/labstack/echo/v4"] = "MIT"
	known["github.com/redis/go-redis/v9"] = "BSD-2-Clause"
	known["github.com/prometheus/common"] = "Apache-2.0"
	known["gopkg.in/yaml.v3"] = "Apache-2.0 AND MIT"
	if len(bom.Components) != len(known) {
		t.Errorf("%d components for %d modules, Go itself and uPlot", len(bom.Components), len(known)-2)
	}
	for _, c := range bom.Components {
		want, there := known[c.Name]
		if !there || len(c.Licenses) != 1 {
			t.Fatalf("%s: %d licences, wanted: %t", c.Name, len(c.Licenses), there)
		}
		got := c.Licenses[0].License.ID + c.Licenses[0].Expression
		if got == "" || want != "" && got != want {
			t.Errorf("%s: %q, want %q", c.Name, got, want)
		}
		if ofGo := c.Name == "stdlib" || c.Name == "uplot"; ofGo != (len(c.Hashes) == 0) {
			t.Errorf("%s: hashes %v", c.Name, c.Hashes)
		}
		if !strings.HasPrefix(c.Purl, "pkg:") || !strings.Contains(licences, "\n"+c.Name+" ") {
			t.Errorf("%s: named %q, and its licence is not among the texts", c.Name, c.Purl)
		}
	}
}

// TestRecogniseLicences has a server with one part, whose licence is this and that.
func TestRecogniseLicences(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../../scripts/sbom.sh")
	if err != nil {
		t.Fatal(err)
	}
	const (
		mit  = "Permission is hereby granted, free of\n   charge, to any person, without restriction"
		bsd2 = "Redistribution and use in source and binary forms\nTHIS SOFTWARE IS PROVIDED BY"
		isc  = "Permission to use, copy, modify, and distribute this software for any purpose"
	)
	for _, tt := range []struct{ name, file, text, want string }{
		{"MIT, over two lines", "LICENSE", mit, "MIT"},
		{"BSD, two clauses", "LICENCE.md", bsd2, "BSD-2-Clause"},
		{"BSD, three clauses", "COPYING", bsd2 + " Neither the name of", "BSD-3-Clause"},
		{"ISC", "LICENSE", isc, "ISC"},
		{"two in one file", "LICENSE", mit + "\nApache License, Version 2.0", "Apache-2.0 AND MIT"},
		{"the GPL", "LICENSE", "GNU GENERAL PUBLIC LICENSE", ""},
		{"a notice alone", "NOTICE", "Apache License, Version 2.0", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			for file, text := range map[string]string{
				"go.mod":                   "module example.com/p\nrequire example.com/part v1.0.0\nreplace example.com/part => ./part\n",
				"cmd/queue-server/main.go": "package main\nimport _ \"example.com/part\"\nfunc main() {}\n",
				"part/go.mod":              "module example.com/part\n",
				"part/part.go":             "package part\n",
				"part/" + tt.file:          tt.text,
				"internal/operate/uplot/uPlot.iife.min.js":  "/*! uPlot (v1.6.32) */\n",
				"internal/operate/uplot/uPlot.LICENSE.txt":  mit,
				"internal/operate/uplot/not-a-licence.json": "{}",
			} {
				put(t, filepath.Join(folder, file), text, 0o600)
			}
			put(t, filepath.Join(folder, "scripts/sbom.sh"), string(script), 0o700)
			text, _, failure := listed(t, folder, built(t, folder))
			if tt.want == "" {
				if !strings.Contains(failure, "no licence that is known") {
					t.Errorf("taken: %s%s", text, failure)
				}
				return
			}
			if failure != "" {
				t.Fatal(failure)
			}
			got := parsed(t, text).Components[0].Licenses[0]
			if got.License.ID+got.Expression != tt.want {
				t.Errorf("got %+v, want %q", got, tt.want)
			}
		})
	}
}
