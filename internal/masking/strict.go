package masking

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"bellhop/protocol"
)

// Strict is a Masker that also replaces what has the form of a secret. It is for texts that leave the
// installation. The zero value knows forms only.
type Strict struct{ known Masker }

// NewStrict returns a masker of the values, as they are and as a URL has them, and of the forms.
func NewStrict(values []string) Strict {
	all := slices.Clone(values)
	for _, value := range values {
		if escaped := url.QueryEscape(value); escaped != value {
			all = append(all, escaped)
		}
	}
	return Strict{known: New(all)}
}

// Text masks and sanitizes a complete text. A form other than that of a private key is found on one line.
func (s Strict) Text(text string) string {
	text = s.known.Text(text)
	if strings.Contains(text, "PRIVATE KEY") {
		text = keyBlock.ReplaceAllString(text, Mask)
	}
	lower := strings.ToLower(text)
	var forms []*form
	for _, all := range [][]form{labelled, complete} {
		for i := range all {
			if all[i].isIn(lower) {
				forms = append(forms, &all[i])
			}
		}
	}
	if len(forms) == 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.SplitAfterSeq(text, "\n") {
		b.WriteString(maskLine(line, forms))
	}
	return b.String()
}

func maskLine(line string, forms []*form) string {
	lower := strings.ToLower(line)
	for _, f := range forms {
		if f.isIn(lower) {
			line = f.pattern.ReplaceAllString(line, f.with)
		}
	}
	return line
}

// Value masks and sanitizes a JSON value; an absent one becomes otherwise. Texts in members whose name says
// that they are secret are masked as a whole.
func (s Strict) Value(raw json.RawMessage, otherwise string) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(otherwise)
	}
	masked, err := maskStrings(protocol.SanitizeJSON(raw), func(members []string, text string) string {
		if text != "" && slices.ContainsFunc(members, isSecretName) {
			return Mask
		}
		return s.Text(text)
	})
	if err != nil { // two names became equal: without its structure, the value cannot be masked surely
		return json.RawMessage(`"` + Mask + `"`)
	}
	return masked
}

// secretNames are the ends of names of members with a secret, without signs and in lower case.
var secretNames = []string{
	"password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "privatekey", "secretkey",
	"authorization", "cookie", "credential", "credentials",
}

func isSecretName(name string) bool {
	plain := strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	return slices.ContainsFunc(secretNames, func(end string) bool { return strings.HasSuffix(plain, end) })
}
