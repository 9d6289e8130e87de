package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// command is the package that the product is made of.
const command = "./cmd/queue-server"

// part is something of others that is in the product.
type part struct {
	name, version string
	// purl names it for those who look for known holes (package-url.org).
	purl string
	// sum is what go.sum has of it, "" for what is no module.
	sum string
	// files are its licences, below folder.
	folder string
	files  []string
	// licence is its name at SPDX; several that all hold are joined by and.
	licence string
}

// uPlotVersion is in the first line of the vendored file.
var uPlotVersion = regexp.MustCompile(`uPlot \(v([0-9.]+)\)`)

// findParts returns all that a binary consists of besides this project: its
// modules, Go's standard library, and what is embedded.
func findParts(ctx context.Context, info *buildinfo.BuildInfo) ([]part, error) {
	folders, err := moduleFolders(ctx)
	if err != nil {
		return nil, err
	}
	var parts []part
	for _, m := range info.Deps {
		p := modulePart(m)
		folder, known := folders[p.name+"@"+p.version]
		if !known {
			return nil, fmt.Errorf("%s@%s is in the binary, and not in what this tree would build: are GOOS and GOARCH the binary's?",
				p.name, p.version)
		}
		p.folder = folder
		parts = append(parts, p)
	}
	std, err := goPart(ctx, info.GoVersion)
	if err != nil {
		return nil, err
	}
	plot, err := plotPart("internal/uplot")
	if err != nil {
		return nil, err
	}
	parts = append(parts, std, plot)
	for i := range parts {
		if err := parts[i].readLicence(); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

func modulePart(m *debug.Module) part {
	if m.Replace != nil {
		m = m.Replace
	}
	return part{
		name: m.Path, version: m.Version, sum: m.Sum,
		purl: "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B") + "?type=module",
	}
}

// goPart is the standard library.
func goPart(ctx context.Context, version string) (part, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return part{}, fmt.Errorf("go env: %w", err)
	}
	number := strings.TrimPrefix(version, "go")
	p := part{
		name: "stdlib", version: number, purl: "pkg:golang/stdlib@" + number,
		folder: strings.TrimSpace(string(root)),
	}
	// Debian keeps Go's licence elsewhere; it is the same for all of Go.
	if _, err := os.Stat(filepath.Join(p.folder, "LICENSE")); errors.Is(err, os.ErrNotExist) {
		p.folder = filepath.Dir(p.folder)
	}
	return p, nil
}

// plotPart is the one script of our pages that is not our own.
func plotPart(folder string) (part, error) {
	text, err := os.ReadFile(filepath.Join(folder, "uPlot.iife.min.js"))
	if err != nil {
		return part{}, err
	}
	match := uPlotVersion.FindSubmatch(text)
	if match == nil {
		return part{}, errors.New("uPlot does not say its version")
	}
	version := string(match[1])
	return part{name: "uplot", version: version, purl: "pkg:npm/uplot@" + version, folder: folder}, nil
}

// moduleFolders returns where the sources are of each module that the command
// needs, by path@version.
func moduleFolders(ctx context.Context) (map[string]string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}}\t{{.Dir}}{{end}}{{end}}", command)
	list.Stderr = os.Stderr
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	folders := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if name, folder, is := strings.Cut(strings.TrimSpace(line), "\t"); is {
			folders[name] = folder
		}
	}
	return folders, nil
}

// licenceFile is what a file with a licence, or with what it wants told, is called.
var licenceFile = regexp.MustCompile(`(?i)^(.*\.)?(licen[cs]e|copying|notice)([.-].*)?$`)

// notice is a licence's companion, and says nothing of which licence it is.
var notice = regexp.MustCompile(`(?i)notice`)

// and joins the names of licences that all hold, as SPDX has it.
const and = " AND "

// licences are told apart by their words. Of BSD's two the first that fits counts,
// since the longer has all the words of the shorter.
var licences = []struct {
	spdx  string
	words []string
}{
	{"Apache-2.0", []string{"Apache License", "Version 2.0"}},
	{"MPL-2.0", []string{"Mozilla Public License", "2.0"}},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "Neither the name of"}},
	{"BSD-2-Clause", []string{"Redistribution and use in source and binary forms", "THIS SOFTWARE IS PROVIDED"}},
	{"ISC", []string{"Permission to use, copy, modify, and/or distribute this software for any purpose"}},
	{"ISC", []string{"Permission to use, copy, modify, and distribute this software for any purpose"}},
	{"MIT", []string{"Permission is hereby granted, free of charge", "without restriction"}},
	{"Unlicense", []string{"This is free and unencumbered software released into the public domain"}},
}

// readLicence finds the part's licence files, and which licence it is.
func (p *part) readLicence() error {
	entries, err := os.ReadDir(p.folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && licenceFile.MatchString(e.Name()) {
			p.files = append(p.files, e.Name())
		}
	}
	slices.Sort(p.files)
	for _, name := range p.files {
		text, err := os.ReadFile(filepath.Join(p.folder, name))
		if err != nil {
			return err
		}
		if p.licence == "" && !notice.MatchString(name) {
			p.licence = recognise(text)
		}
	}
	if p.licence == "" {
		return fmt.Errorf("%s@%s has no licence that is known here (in %q): read it, and add it to part.go", p.name, p.version, p.files)
	}
	return nil
}

// recognise returns the SPDX name of a licence, or of several in one file, or "".
func recognise(text []byte) string {
	flat := bytes.Join(bytes.Fields(text), []byte(" "))
	var all []string
	for _, l := range licences {
		missing := slices.ContainsFunc(l.words, func(w string) bool { return !bytes.Contains(flat, []byte(w)) })
		shorter := l.spdx == "BSD-2-Clause" && slices.Contains(all, "BSD-3-Clause")
		if !missing && !shorter && !slices.Contains(all, l.spdx) {
			all = append(all, l.spdx)
		}
	}
	return strings.Join(all, and)
}
