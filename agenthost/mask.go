package agenthost

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"bellhop/protocol"
)

const (
	mask = "[redacted]"
	// minSecret keeps a short or empty "secret" from blotting out all text.
	minSecret = 6
)

// masker replaces known secrets (reliability PROC-6). The zero value masks nothing.
type masker struct{ secrets []string } // longest first

func newMasker(secrets []string) masker {
	var m masker
	for _, s := range secrets {
		if len(s) >= minSecret {
			m.secrets = append(m.secrets, s)
		}
	}
	slices.SortFunc(m.secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return m
}

// text masks and sanitizes a whole text.
func (m masker) text(s string) string {
	out, _ := m.scan(s, true)
	return protocol.SanitizeText(out)
}

// scan masks s. Unless final, it stops where a secret or a character may have
// begun that s does not end, and returns that rest.
func (m masker) scan(s string, final bool) (out, rest string) {
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
			b.WriteString(mask)
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

// match returns the length of the secret that s begins with, and whether a longer
// one might be there once more of s is known.
func (m masker) match(s string) (n int, partial bool) {
	for _, secret := range m.secrets {
		if strings.HasPrefix(s, secret) {
			return len(secret), partial
		}
		partial = partial || strings.HasPrefix(secret, s)
	}
	return 0, partial
}

// value masks and sanitizes a JSON value; absent becomes otherwise.
func (m masker) value(raw json.RawMessage, otherwise string) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(otherwise)
	}
	clean := protocol.SanitizeJSON(raw)
	if len(m.secrets) == 0 {
		return clean
	}
	masked, err := m.strings(clean)
	if err != nil { // names that became equal
		return protocol.SanitizeJSON(json.RawMessage(m.text(string(clean))))
	}
	return masked
}

// strings masks inside the strings of valid JSON, where escapes may hide a secret.
func (m masker) strings(raw []byte) (json.RawMessage, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out)
	for {
		tok, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return bytes.TrimSpace(out.Bytes()), nil
		}
		if err != nil {
			return nil, err
		}
		if tok.Kind() == '"' {
			tok = jsontext.String(m.text(tok.String()))
		}
		if err := enc.WriteToken(tok); err != nil {
			return nil, err
		}
	}
}

// scrubber masks and sanitizes text that comes in pieces.
type scrubber struct {
	masker
	held string
}

func (c *scrubber) write(delta string) string {
	out, rest := c.scan(c.held+delta, false)
	c.held = rest
	return protocol.SanitizeText(out)
}

func (c *scrubber) flush() string {
	out := c.text(c.held)
	c.held = ""
	return out
}

// completeRunes is the length of s without a character that is cut off.
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
