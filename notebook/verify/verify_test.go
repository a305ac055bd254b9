package verify_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/internal/testenv/testlist"
	"bellhop/notebook"
	"bellhop/notebook/verify"
	"bellhop/protocol"
)

// The test binary is its own worker, as the bellhop binary is.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "verify-worker":
		if err := verify.Work(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	case len(os.Args) == 2 && os.Args[1] == "hang":
		time.Sleep(time.Hour) // the runtime would report select {} as a deadlock
	case len(os.Args) == 2 && os.Args[1] == "spin":
		spin()
	case len(os.Args) == 3 && os.Args[1] == "die-once":
		dieOnce(os.Args[2])
		return
	}
	dir, err := os.MkdirTemp("", "grammars-")
	if err != nil {
		panic(err)
	}
	compiled = dir
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// spin computes for ever, but not longer than the process that started it.
func spin() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for { //nolint:staticcheck // it spins on purpose
	}
}

// dieOnce is a worker that dies at its first request, unless one died before it.
func dieOnce(marker string) {
	in := bufio.NewReader(os.Stdin)
	first, _ := in.Peek(1)
	if _, err := os.Stat(marker); err != nil && len(first) == 1 {
		_ = os.WriteFile(marker, nil, 0o600)
		os.Exit(1)
	}
	if err := verify.Work(in, os.Stdout); err != nil {
		os.Exit(1)
	}
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// patience is a limit that no request of a test reaches, on however slow a machine.
const patience = 10 * time.Minute

// compiled is where the tests of this package keep compiled grammars.
var compiled string

func newVerifier(t testing.TB, args ...string) *verify.Verifier {
	t.Helper()
	v := verify.New(verify.Options{
		Worker: append([]string{os.Args[0]}, args...), Cache: compiled,
		ProcessorLimit: patience, Limit: patience, Now: func() time.Time { return noon },
	})
	t.Cleanup(v.Close)
	return v
}

func errorsIn(v protocol.Verification) (n int) {
	for _, d := range v.Diagnostics {
		if d.Severity == "error" {
			n++
		}
	}
	return n
}

func TestEachCheckerAcceptsAndRejects(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, "verify-worker")
	for _, c := range []struct {
		name, language, code string
		want                 protocol.Verdict
		tool                 string
		line, column         int
	}{
		{"a Go program", "go", "package main\n\nfunc main() { println(1) }\n", protocol.Verified, "go/parser+go/types", 0, 0},
		{
			"a Go program that does not compile", "go", "package main\n\nfunc main() { var x int = \"a\"; _ = x }\n",
			protocol.VerifyFailed, "go/parser+go/types", 3, 27,
		},
		{
			"a Go file that needs another file", "go", "package a\n\nimport \"fmt\"\n\nfunc F() { fmt.Println(undefined) }\n",
			protocol.Verified, "go/parser", 0, 0,
		},
		{
			"a Go file with imports", "go",
			"package a\n\nimport (\n\t\"fmt\"\n\t\"net/http\"\n)\n\nvar _ http.Handler\n\nfunc F() { fmt.Println(1) }\n",
			protocol.Verified, "go/parser+go/types", 0, 0,
		},
		{
			"a wrong name of an import", "go", "package a\n\nimport \"fmt\"\n\nfunc F() { fmt.Printl(1) }\n",
			protocol.VerifyFailed, "go/parser+go/types", 5, 16,
		},
		{
			"a wrong method of an imported type", "go",
			"package a\n\nimport \"strings\"\n\nfunc F(b *strings.Builder) { b.Add(1) }\n", protocol.VerifyFailed,
			"go/parser+go/types", 5, 32,
		},
		{
			"a Go program with a type error", "go",
			"package main\n\nimport \"fmt\"\n\nfunc main() {\n\tvar n int = fmt.Sprint(1)\n\tprintln(n)\n}\n",
			protocol.VerifyFailed, "go/parser+go/types", 6, 14,
		},
		{
			"a Go program that misses a name", "go", "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(name) }\n",
			protocol.VerifyFailed, "go/parser+go/types", 5, 27,
		},
		{
			"Go with imports from elsewhere", "go", "package a\n\nimport \"example.org/z\"\n\nvar A int = z.B\n",
			protocol.Verified, "go/parser", 0, 0,
		},
		{"Go declarations alone", "go", "type T struct{}\n\nfunc (T) M() {}\n", protocol.Verified, "go/parser", 0, 0},
		{"Go statements alone", "golang", "x := 1\nfor range x {\n}\n", protocol.Verified, "go/parser", 0, 0},
		{"Go that does not parse", "go", "package a\n\nfunc F( {}\n", protocol.VerifyFailed, "go/parser", 3, 9},
		{"a Go fragment that does not parse", "go", "x := 1\ny := := 2\n", protocol.VerifyFailed, "go/parser", 2, 6},
		{"JavaScript", "js", "const a = () => ({...b});\n", protocol.Verified, "github.com/evanw/esbuild", 0, 0},
		{
			"JavaScript that does not parse", "javascript", "\nlet x = ;", protocol.VerifyFailed, "github.com/evanw/esbuild",
			2, 9,
		},
		{"TypeScript", "ts", "type A<T> = { [K in keyof T]?: T[K] };\n", protocol.Verified, "github.com/evanw/esbuild", 0, 0},
		{
			"TypeScript as JavaScript", "javascript", "let x: number = 1;", protocol.VerifyFailed, "github.com/evanw/esbuild",
			1, 6,
		},
		{
			"TSX", "tsx", "export const A = (p: {a: string}) => <b>{p.a}</b>;\n", protocol.Verified,
			"github.com/evanw/esbuild", 0, 0,
		},
		{"JSX", "jsx", "<a></b>", protocol.VerifyFailed, "github.com/evanw/esbuild", 1, 6},
		{"JSON", "json", `{"a":[1,2,{"b":null}]}`, protocol.Verified, "github.com/go-json-experiment/json", 0, 0},
		{
			"JSON with a comma too many", "json", "{\n  \"a\": 1,\n}", protocol.VerifyFailed,
			"github.com/go-json-experiment/json", 2, 9,
		},
		{
			"JSON with a name twice", "json", `{"a":1,"a":2}`, protocol.VerifyFailed, "github.com/go-json-experiment/json",
			1, 8,
		},
		{"JSON and more", "json", "1 2", protocol.VerifyFailed, "github.com/go-json-experiment/json", 1, 3},
		{"half of JSON", "json", `{"a":`, protocol.VerifyFailed, "github.com/go-json-experiment/json", 1, 6},
		{"JSON with a byte order mark", "json", "\uFEFF{\"a\": 1}", protocol.Verified, "github.com/go-json-experiment/json", 0, 0},
		{
			"wrong JSON with a byte order mark", "json", "\uFEFF{\"a\" 1}", protocol.VerifyFailed,
			"github.com/go-json-experiment/json", 1, 9,
		},
		{"two byte order marks", "json", "\uFEFF\uFEFF{}", protocol.VerifyFailed, "github.com/go-json-experiment/json", 1, 4},
		{"YAML with a byte order mark", "yaml", "\uFEFFa: 1\n", protocol.Verified, "github.com/goccy/go-yaml", 0, 0},
		{"TOML with a byte order mark", "toml", "\uFEFFa = 1\n", protocol.Verified, "github.com/pelletier/go-toml/v2", 0, 0},
		{"HCL with a byte order mark", "hcl", "\uFEFFa = 1\n", protocol.Verified, "github.com/hashicorp/hcl/v2", 0, 0},
		{"Python with a byte order mark", "python", "\uFEFFx = 1\n", protocol.Verified, "tree-sitter-python", 0, 0},
		{"shell with a byte order mark", "shell", "\uFEFFif true; then ls; fi\n", protocol.VerifyFailed, "mvdan.cc/sh/v3", 1, 13},
		{"YAML", "yml", "a:\n  - b\n  - c: 1\n", protocol.Verified, "github.com/goccy/go-yaml", 0, 0},
		{"YAML with an open list", "yaml", "a: [1, 2\n", protocol.VerifyFailed, "github.com/goccy/go-yaml", 1, 4},
		{"TOML", "toml", "[a]\nb = 1\n", protocol.Verified, "github.com/pelletier/go-toml/v2", 0, 0},
		{"TOML without a value", "toml", "[a]\nb =\n", protocol.VerifyFailed, "github.com/pelletier/go-toml/v2", 2, 4},
		{"XML", "xml", "<?xml version=\"1.0\"?><a><b/></a>", protocol.Verified, "encoding/xml", 0, 0},
		{
			"XML in ISO-8859-1", "xml", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<a>\u00e9</a>", protocol.Verified,
			"encoding/xml", 0, 0,
		},
		{"XML in UTF-16", "xml", "<?xml version='1.0' encoding='utf-16'?><a/>", protocol.Verified, "encoding/xml", 0, 0},
		{
			"XML with a byte order mark", "xml", "\uFEFF<?xml version=\"1.0\" encoding=\"UTF-8\"?><a/>", protocol.Verified,
			"encoding/xml", 0, 0,
		},
		{
			"XML in no encoding", "xml", "<?xml version=\"1.0\" encoding=\"8 bit\"?>\n<a/>", protocol.VerifyFailed, "encoding/xml",
			1, 39,
		},
		{
			"wrong XML in ISO-8859-1", "xml", "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n<a>", protocol.VerifyFailed,
			"encoding/xml", 2, 4,
		},
		{"XML that does not nest", "xml", "<a>\n<b></a>", protocol.VerifyFailed, "encoding/xml", 2, 8},
		{"XML with two roots", "xml", "<a/><b/>", protocol.VerifyFailed, "encoding/xml", 1, 9},
		{"XML without a root", "xml", "<!-- a -->", protocol.VerifyFailed, "encoding/xml", 1, 11},
		{"shell", "bash", "if [[ $a == b ]]; then echo \"$(ls)\"; fi\n", protocol.Verified, "mvdan.cc/sh/v3", 0, 0},
		{"shell with an open if", "shell", "if true; then\n", protocol.VerifyFailed, "mvdan.cc/sh/v3", 1, 10},
		{"bash as POSIX shell", "sh", "#!/bin/sh\na=(1 2)\n", protocol.VerifyFailed, "mvdan.cc/sh/v3", 2, 3},
		{"bash that was named sh", "sh", "#!/usr/bin/env bash\na=(1 2)\n", protocol.Verified, "mvdan.cc/sh/v3", 0, 0},
		{"some shell that was named sh", "sh", "a=(1 2)\n[[ -n $a ]]\n", protocol.Verified, "mvdan.cc/sh/v3", 0, 0},
		{"no shell that was named sh", "sh", "a=(1 2\n", protocol.VerifyFailed, "mvdan.cc/sh/v3", 1, 3},
		{"HCL", "terraform", "resource \"a\" \"b\" {\n  c = 1\n}\n", protocol.Verified, "github.com/hashicorp/hcl/v2", 0, 0},
		{
			"HCL with an open block", "hcl", "resource \"a\" \"b\" {\n", protocol.VerifyFailed, "github.com/hashicorp/hcl/v2",
			1, 18,
		},
		{
			"protobuf", "proto", "syntax = \"proto3\";\nmessage A { int32 a = 1; }\n", protocol.Verified,
			"github.com/bufbuild/protocompile", 0, 0,
		},
		{
			"protobuf with a tag twice", "protobuf", "syntax = \"proto3\";\nmessage A { int32 a = 1; int32 b = 1; }\n",
			protocol.VerifyFailed, "github.com/bufbuild/protocompile", 2, 36,
		},
		{
			"a Dockerfile", "dockerfile", "FROM a AS b\nRUN make\nCOPY --from=b /x /y\n", protocol.Verified,
			"github.com/moby/buildkit", 0, 0,
		},
		{
			"a Dockerfile with an unknown instruction", "docker", "FROM a\nRUNN x\n", protocol.VerifyFailed,
			"github.com/moby/buildkit", 2, 1,
		},
		{
			"a Dockerfile that builds on nothing", "dockerfile", "RUN x\n", protocol.VerifyFailed, "github.com/moby/buildkit",
			1, 1,
		},
		{
			"SQL", "sql", "create table a (b int);\n-- c; d\nSELECT x.y FROM nowhere x WHERE z = ';';", protocol.Verified,
			"SQLite", 0, 0,
		},
		{
			"SQL of a trigger", "sqlite", "CREATE TRIGGER t AFTER INSERT ON a BEGIN UPDATE b SET c = 1; DELETE FROM d; END;",
			protocol.Verified, "SQLite", 0, 0,
		},
		{"SQL without a last semicolon", "sql", "select 1", protocol.Verified, "SQLite", 0, 0},
		{
			"SQL of another dialect, or none", "postgresql", "select 1;\nSELEKT a FROM b", protocol.VerifyUnsupported,
			"SQLite", 0, 0,
		},
		{"half of SQL", "sql", "SELECT a FROM", protocol.VerifyUnsupported, "SQLite", 0, 0},
		{"a language without a parser here", "cobol", "x\n", protocol.VerifyUnsupported, "", 0, 0},
		{"an unknown language", "brainfuck++", "+", protocol.VerifyUnsupported, "", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := v.Verify(t.Context(), c.language, c.code)
			if got.Verdict != c.want || got.Tool != c.tool || (got.Tool == "") != (got.ToolVersion == "") {
				t.Fatalf("got %+v", got)
			}
			if (got.VerifiedAt != nil) != (c.want == protocol.Verified) || !strings.HasPrefix(got.Digest, "sha256:") ||
				len(got.Digest) != len("sha256:")+64 {
				t.Errorf("at %v, digest %s", got.VerifiedAt, got.Digest)
			}
			if got.Diagnostics == nil || c.want == protocol.Verified && errorsIn(got) > 0 {
				t.Errorf("diagnostics %+v", got.Diagnostics)
			}
			if (got.Claim != "") != (c.want == protocol.Verified) || c.want == protocol.VerifyUnsupported && got.Reason == "" {
				t.Errorf("claim %q, reason %q", got.Claim, got.Reason)
			}
			if c.want == protocol.VerifyFailed {
				if d := got.Diagnostics[0]; d.Line != c.line || d.Column != c.column || d.Message == "" || d.Severity != "error" {
					t.Errorf("diagnostic %+v, want one at %d:%d", d, c.line, c.column)
				}
			}
		})
	}
}

// Recursive descent on hostile nesting overflows the stack, which a Go program cannot recover
// from. Only the child ends.
func TestHostileNestingEndsOnlyTheWorker(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, "verify-worker")
	const n = 250_000
	type bomb struct{ name, language, code string }
	for _, c := range testlist.OrEvery(4, []bomb{
		{"brackets", "javascript", strings.Repeat("[", n)},
		{"brackets", "typescript", strings.Repeat("(", n)},
		{"blocks", "css", strings.Repeat("a{", n)},
		{"substitutions", "shell", strings.Repeat("$(", n)},
		{"sequences", "yaml", strings.Repeat("[", n)},
		{"arrays", "toml", "a = " + strings.Repeat("[", n)},
		{"parentheses", "hcl", "a = " + strings.Repeat("(", n)},
		{"elements", "xml", strings.Repeat("<a>", n/2)},
		{"heredocs", "dockerfile", "FROM a\nRUN " + strings.Repeat("<<A ", n/3)},
		{"messages", "protobuf", strings.Repeat("message A {", n/6)},
		{"parentheses", "go", "package a\nvar x = " + strings.Repeat("(", n)},
		{"prefixes", "go", "package a\nvar x = " + strings.Repeat("-", n) + "1"},
		{"pointers", "go", "package a\nvar x " + strings.Repeat("*", n) + "int"},
		{"channels", "go", "package a\nvar x " + strings.Repeat("chan ", n/3) + "int"},
		{"elses", "go", "package a\nfunc f() { " + strings.Repeat("if a {} else ", n/8) + "{} }"},
		{"arrays", "json", strings.Repeat("[", n)},
		{"brackets", "python", strings.Repeat("[", n)},
		{"indents", "python", indents(700)},
		{"blocks", "rust", "fn f() " + strings.Repeat("{", n)},
		{"classes", "java", strings.Repeat("class A {", n/9)},
		{"parentheses", "c", "int x = " + strings.Repeat("(", n)},
		{"templates", "cpp", strings.Repeat("A<", n/2)},
		{"lambdas", "csharp", "var x = " + strings.Repeat("a => ", n/5)},
		{"blocks", "ruby", strings.Repeat("a { ", n/4)},
		{"arrays", "php", "<?php $a = " + strings.Repeat("[", n)},
		{"elements", "html", strings.Repeat("<a>", n/25)}, // the grammar takes the square of the depth
		{"quotes", "markdown", strings.Repeat("> ", n/2)},
		{"lists", "markdown", strings.Repeat("- ", n/4)},
		{"parentheses", "kotlin", "val x = " + strings.Repeat("(", n)},
		{"random bytes", "cpp", noise(n)},
		{"invalid UTF-8", "python", strings.Repeat("\xff\xfe\x00(", n/4)},
	}) {
		t.Run(c.language+" "+c.name, func(t *testing.T) {
			if got := v.Verify(t.Context(), c.language, c.code); got.Verdict == protocol.Verified {
				t.Errorf("verified by %s", got.Tool)
			}
		})
	}
	if got := v.Verify(t.Context(), "python", "x = 1\n"); got.Verdict != protocol.Verified {
		t.Errorf("after the bombs: %+v", got)
	}
	if got := v.Verify(t.Context(), "javascript", "1"); got.Verdict != protocol.Verified {
		t.Errorf("after the bombs: %+v", got)
	}
}

func TestAWorkerIsKilledAtItsTimeLimit(t *testing.T) {
	t.Parallel()
	hanging := verify.New(verify.Options{
		Worker: []string{os.Args[0], "hang"}, Cache: compiled, Limit: 50 * time.Millisecond,
	})
	got := hanging.Verify(t.Context(), "css", "a{}")
	if got.Verdict != protocol.VerifyUnsupported || got.Reason != "The checker was ended after its time was over" {
		t.Errorf("got %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := newVerifier(t, "hang").Verify(ctx, "css", "a{}"); got.Verdict != protocol.VerifyUnsupported {
		t.Errorf("got %+v", got)
	}
}

func indents(depth int) string {
	var code strings.Builder
	for i := range depth {
		code.WriteString(strings.Repeat(" ", i) + "if x:\n")
	}
	return code.String()
}

// noise is text without meaning, the same in every run.
func noise(n int) string {
	const signs = "abc<>(){}[];:&*=\"'#/\\\n "
	var code strings.Builder
	for state := uint32(1); code.Len() < n; {
		state = state*1664525 + 1013904223
		code.WriteByte(signs[state>>16%uint32(len(signs))])
	}
	return code.String()
}

func TestWithoutAWorker(t *testing.T) {
	t.Parallel()
	v := verify.New(verify.Options{})
	for language, want := range map[string]protocol.Verdict{"go": protocol.Verified, "css": protocol.VerifyUnsupported} {
		if got := v.Verify(t.Context(), language, "package main\nfunc main() {}"); got.Verdict != want {
			t.Errorf("%s: %+v", language, got)
		}
	}
}

func TestCodeOverTheLimitIsUnsupported(t *testing.T) {
	t.Parallel()
	got := newVerifier(t, "verify-worker").Verify(t.Context(), "json", strings.Repeat("1", notebook.MaxCode+1))
	if got.Verdict != protocol.VerifyUnsupported || got.Reason == "" {
		t.Errorf("got %+v", got)
	}
}

func TestTheLanguageIsDetected(t *testing.T) {
	t.Parallel()
	for want, samples := range map[string][]string{
		"go": {
			"// Package a does.\npackage a\n", "func (s *Server) Run(ctx context.Context) error {\n\treturn nil\n}\n",
		},
		"javascript": {
			"const a = require('b');\n", "#!/usr/bin/env node\nrun()\n",
			"export default function f() {}\n", "console.log(1)\n",
		},
		"typescript":   {"interface A {\n  b: string;\n}\n", "const f = (x: number): Promise<void> => g(x);\n"},
		"tsx":          {"type P = { a: string };\nexport const A = (p: P) => <b>{p.a}</b>;\n"},
		"jsx":          {"export const A = () => <b>1</b>;\n"},
		"python":       {"def f(x):\n    return x\n", "#!/usr/bin/env python3\nprint(1)\n", "from os import path\n"},
		"rust":         {"pub fn f(x: u8) -> u8 {\n    x\n}\n", "use std::io;\n"},
		"java":         {"import java.util.List;\npublic class A {}\n"},
		"c":            {"#include <stdio.h>\nint main(void) { return 0; }\n"},
		"cpp":          {"#include <iostream>\nint main() {}\n"},
		"json":         {`{"a": 1}`, "[1, 2]\n"},
		"yaml":         {"a:\n  b: 1\n", "---\na: 1\n", "- a\n- b\n"},
		"toml":         {"[package]\nname = \"a\"\n", "name = \"a\"\n"},
		"xml":          {"<?xml version=\"1.0\"?>\n<a/>\n"},
		"html":         {"<!DOCTYPE html>\n<p>\n"},
		"css":          {".a > b {\n  color: red;\n}\n", "@media print { a { color: red; } }\n"},
		"sql":          {"SELECT a FROM b WHERE c = 1;\n", "create table a (b int);\n"},
		"shell":        {"#!/bin/bash\nls\n", "set -euo pipefail\nls\n"},
		"sh":           {"#!/bin/sh\nls\n"},
		"dockerfile":   {"# syntax=docker/dockerfile:1\nFROM golang:1.26 AS build\nRUN make\n"},
		"hcl":          {"resource \"aws_s3_bucket\" \"a\" {\n}\n"},
		"protobuf":     {"syntax = \"proto3\";\npackage a;\n"},
		"markdown":     {"# Title\n\nText.\n"},
		"ruby":         {"def f(x)\n  x + 1\nend\n", "class A < B\nend\n", "#!/usr/bin/env ruby\nputs 1\n"},
		"php":          {"<?php\necho 1;\n"},
		"csharp":       {"using System;\nclass A {}\n"},
		"kotlin":       {"fun main() {\n}\n", "private fun f(x: Int): Int = x\n"},
		"elixir":       {"defmodule A do\nend\n"},
		"lua":          {"local function f()\nend\n"},
		verify.Unknown: {"", "lorem ipsum dolor\n"},
	} {
		for _, sample := range samples {
			if got := verify.Detect(sample); got != want {
				t.Errorf("%q is %s, want %s", sample, got, want)
			}
		}
	}
}
