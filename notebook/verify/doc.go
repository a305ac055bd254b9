// Package verify checks code without running it, with real parsers and compiler front ends
// behind one method, and detects its language if none is named. It implements
// notebook.Verifier; package protocol defines what a verification status means.
//
// Where a parser runs:
//
//	in process  go/parser and JSON, each with a limit of depth: recursion on hostile
//	            nesting overflows the stack, which Go cannot recover from
//	a child     all others: "bellhop verify-worker" reads one request from stdin and
//	            writes the result to stdout; it is killed at 2 s or 256 MiB
//
// A language without a parser here is unsupported: its code is not checked.
package verify
