// Package verify checks code without running it, with real parsers and compiler front ends
// behind one method, and detects its language if none is named. It implements
// notebook.Verifier; package protocol defines what a verification status means.
//
// Where a parser runs:
//
//	in process  go/parser and JSON, each with a limit of depth: recursion on hostile
//	            nesting overflows the stack, which Go cannot recover from
//	a worker    all others: "bellhop verify-worker" answers one request after another and
//	            keeps grammars and types loaded; a request that takes more than 2 s of
//	            processor time, 30 s or 256 MiB ends it, and the next request gets another
//
// Languages with a strict parser in Go use that (checkers); the others have a grammar of
// tree-sitter (treesitter). HTML, CSS and Markdown give every text a meaning: they get warnings and
// no claim. A language without a parser is unsupported: its code is not checked.
package verify
