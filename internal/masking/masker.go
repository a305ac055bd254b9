package masking

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"bellhop/protocol"
)

const (
	// Mask stands in the place of a secret.
	Mask = "[redacted]"
	// minSecret is the length of the shortest value that is masked: a shorter one occurs
	// in ordinary text.
	minSecret = 6
)

// Masker replaces known secrets (reliability PROC-6). The zero value masks nothing.
type Masker struct{ secrets []string } // longest first

// New returns a masker of secrets. It ignores those shorter than 6 bytes.
func New(secrets []string) Masker {
	var m Masker
	for _, s := range secrets {
		if len(s) >= minSecret {
			m.secrets = append(m.secrets, s)
		}
	}
	slices.SortFunc(m.secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return m
}

// Text masks and sanitizes a complete text.
func (m Masker) Text(s string) string {
	out, _ := m.scan(s, true)
	return protocol.SanitizeText(out)
}

// Piece masks and sanitizes a piece of a text that is read in pieces. before is what precedes the piece, at least as
// long as a secret; final means that nothing follows. used is how many bytes of the piece clean covers: the next
// piece begins there, because the rest may be the beginning of a secret.
func (m Masker) Piece(before, piece string, final bool) (clean string, used int) {
	_, held := m.scan(before, false)
	out, rest := m.scan(held+piece, final)
	if len(rest) >= len(piece) {
		out, rest = m.scan(held+piece, true)
	}
	shared := 0 // the held text belongs to the piece before, unless a secret begins in it
	for shared < min(len(out), len(held)) && out[shared] == held[shared] {
		shared++
	}
	return protocol.SanitizeText(out[shared:]), len(piece) - len(rest)
}

// scan masks s. Unless final, it stops where s ends within a character or within what
// may be a secret, and returns that rest.
func (m Masker) scan(s string, final bool) (out, rest string) {
	end := len(s)
	if !final {
		end = completeRunes(s)
	}
	if len(m.secrets) == 0 {
		return s[:end], s[end:]
	}
	var b strings.Builder
	for i := 0; i < end; {
		switch n, partial := m.match(s[i:]); {
		case n > 0 && (final || !partial):
			b.WriteString(Mask)
			i += n
		case partial && !final:
			return b.String(), s[i:]
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String(), s[end:]
}

// match returns the length of the secret that s begins with. partial means that s may
// turn out to begin with a longer one when more of it is known.
func (m Masker) match(s string) (n int, partial bool) {
	for _, secret := range m.secrets {
		if strings.HasPrefix(s, secret) {
			return len(secret), partial
		}
		partial = partial || strings.HasPrefix(secret, s)
	}
	return 0, partial
}

// Value masks and sanitizes a JSON value; an absent one becomes otherwise.
func (m Masker) Value(raw json.RawMessage, otherwise string) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(otherwise)
	}
	clean := protocol.SanitizeJSON(raw)
	if len(m.secrets) == 0 {
		return clean
	}
	masked, err := maskStrings(clean, func(_ []string, text string) string { return m.Text(text) })
	if err != nil { // two names became equal
		return protocol.SanitizeJSON(json.RawMessage(m.Text(string(clean))))
	}
	return masked
}

// Scrubber masks and sanitizes text that comes in pieces. The zero value only
// sanitizes.
type Scrubber struct {
	Masker
	held string
}

// NewScrubber returns a scrubber that uses m.
func NewScrubber(m Masker) Scrubber { return Scrubber{Masker: m} }

// Write returns the clean text that delta completes. It holds back an end that may be
// the beginning of a secret or of a character.
func (c *Scrubber) Write(delta string) string {
	out, rest := c.scan(c.held+delta, false)
	c.held = rest
	return protocol.SanitizeText(out)
}

// Holds reports whether Flush would return text.
func (c *Scrubber) Holds() bool { return c.held != "" }

// Flush returns the held text, because no more text follows.
func (c *Scrubber) Flush() string {
	out := c.Text(c.held)
	c.held = ""
	return out
}

// completeRunes returns the length of s without a character that is cut off.
func completeRunes(s string) int {
	for i := len(s) - 1; i >= 0 && i > len(s)-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				return i
			}
			break
		}
	}
	return len(s)
}
