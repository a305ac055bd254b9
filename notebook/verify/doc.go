// Package verify judges code without running it, by real parsers and compiler
// front ends behind one method, and detects its language where none is named.
// It implements notebook.Verifier; what a verdict means is said in protocol.
//
// Where a parser runs:
//
//	in process  go/parser and go/types, JSON, YAML, TOML, XML: each after a check
//	            of depth, because recursion on hostile nesting ends the process
//	            (a Go stack overflow cannot be recovered)
//	a child     all others: "bellhop verify-worker" gets one request on stdin and
//	            answers on stdout; 2 s or 256 MiB end it
//
// A language without a parser here is answered unsupported, which says nothing
// about the code.
package verify
