// Package jsonlines reads and writes one JSON value per line, for the headless interface
// (protocol section 4). Lines are bounded: an overlong line needs no more memory than the bound
// and does not end the stream. Lines of concurrent writers never mix.
//
// It owns only the framing; the caller decides whether a line is valid JSON and what it means.
package jsonlines
