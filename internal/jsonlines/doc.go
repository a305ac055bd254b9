// Package jsonlines reads and writes one JSON value a line, as the headless
// interface needs it (protocol section 4): lines are bounded, an overlong line
// costs no more memory than the bound and does not end the stream, and lines of
// concurrent writers never mix.
//
// It owns framing only. What a line means, and whether it is JSON at all, is
// the caller's business.
package jsonlines
