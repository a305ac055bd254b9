package licenses

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// kinds are the licences that are allowed, by a phrase of their text. They ask for a notice and nothing
// more; MPL 2.0 asks for the source of changed files, and none is changed.
var kinds = []struct{ id, phrase string }{
	{"Apache-2.0", "Apache License"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"BSD-3-Clause", "Neither the name"},
	{"BSD-2-Clause", "Redistribution and use in source and binary forms"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any"},
	{"ISC", "Permission to use, copy, modify, and distribute this software for any"},
	{"MPL-2.0", "Mozilla Public License"},
	{"Unlicense", "This is free and unencumbered software"},
}

// additions are phrases of files beside a licence that ask for no more than to be passed on.
var additions = []string{
	"Additional IP Rights Grant (Patents)", "This product includes software developed at", "wazero authors",
	"procfs provides functions to retrieve system",
}

// documentsOnly are modules with a text of another licence for their documents, which no binary contains.
var documentsOnly = map[string]string{"github.com/opencontainers/go-digest": "Attribution-ShareAlike 4.0 International"}

// toolsOnly are licences of packages that build and test the console, beside those of kinds. None of
// their code is in a binary.
var toolsOnly = []string{"0BSD", "MIT-0", "(AFL-2.1 OR BSD-3-Clause)", "MIT OR Apache-2.0"}

func isAllowed(id string) bool {
	return slices.ContainsFunc(kinds, func(k struct{ id, phrase string }) bool { return k.id == id })
}

// kindOf returns the SPDX id of a licence's text, "" if the text is of no known kind.
func kindOf(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	for _, k := range kinds {
		if strings.Contains(text, strings.ToLower(k.phrase)) {
			return k.id
		}
	}
	return ""
}

// licensesOf returns the SPDX ids of all texts of a component, and the texts of no known kind.
func licensesOf(c component) (ids, unknown []string) {
	for _, text := range c.texts {
		id := kindOf(text)
		isAddition := slices.ContainsFunc(additions, func(phrase string) bool { return strings.Contains(text, phrase) })
		switch {
		case documentsOnly[c.name] != "" && strings.Contains(text, documentsOnly[c.name]):
		case id != "":
			ids = append(ids, id)
		case !isAddition:
			unknown = append(unknown, text)
		}
	}
	if c.license != "" && !slices.Contains(ids, c.license) {
		ids = append(ids, c.license)
	}
	slices.Sort(ids)
	return slices.Compact(ids), unknown
}

// A licence that asks for more than a notice needs a decision, also if it stands beside a known one.
func TestLinkedLicensesAreAllowed(t *testing.T) {
	t.Parallel()
	for _, c := range linked(t) {
		ids, unknown := licensesOf(c)
		for _, text := range unknown {
			t.Errorf("%s %s has a license of an unknown kind:\n%.300s", c.name, c.version, text)
		}
		if len(ids) == 0 {
			t.Errorf("%s %s has no license", c.name, c.version)
		}
		for _, id := range ids {
			if !isAllowed(id) {
				t.Errorf("%s %s has the license %s, which is not allowed", c.name, c.version, id)
			}
		}
	}
}

func TestALicenseBesideAKnownOneIsSeen(t *testing.T) {
	t.Parallel()
	mit := "Permission is hereby granted, free of charge, to any person"
	for name, c := range map[string]component{
		"another text":        {texts: []string{mit, "GNU GENERAL PUBLIC LICENSE Version 3"}},
		"a text alone":        {texts: []string{"Business Source License 1.1"}},
		"a name that differs": {license: "AGPL-3.0-only", texts: []string{mit}},
		"nothing at all":      {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ids, unknown := licensesOf(c)
			if len(unknown) == 0 && len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return !isAllowed(id) }) {
				t.Errorf("accepted as %s", ids)
			}
		})
	}
}

// All packages of the lock files, those that only build and test included.
func TestLicensesOfLockedPackagesAreAllowed(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		"web/package-lock.json", "web/client/package-lock.json", "web/client/examples/react/package-lock.json",
		"web/client/examples/assistant-ui/package-lock.json", "internal/bench/reference/package-lock.json",
	} {
		var lock struct {
			Packages map[string]struct {
				License string
				Link    bool
			}
		}
		readJSON(t, filepath.Join(root, filepath.FromSlash(file)), &lock)
		for name, p := range lock.Packages {
			if name == "" || p.Link || !strings.Contains(name, "node_modules/") {
				continue
			}
			if !isAllowed(p.License) && !slices.Contains(toolsOnly, p.License) {
				t.Errorf("%s: %s has the license %q, which is not allowed", file, name, p.License)
			}
		}
		if len(lock.Packages) < 10 {
			t.Errorf("%s has %d packages", file, len(lock.Packages))
		}
	}
}

var spdxID = regexp.MustCompile(`^[A-Za-z0-9.-]+$`)

// componentsJSON returns the list of components for the bill of materials.
func componentsJSON(t *testing.T, components []component) []byte {
	t.Helper()
	list := make([]Component, len(components))
	for i, c := range components {
		list[i] = Component{Kind: c.kind, Name: c.name, Version: c.version}
		list[i].Licenses, _ = licensesOf(c)
		for _, id := range list[i].Licenses {
			if !spdxID.MatchString(id) {
				t.Errorf("%s: %q is not an SPDX id", c.name, id)
			}
		}
	}
	list[0].Name = standardLibrary
	content, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(content, '\n')
}
