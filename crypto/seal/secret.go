package seal

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret holds a value that only Reveal returns: every verb of fmt, JSON, text and slog get
// "[redacted]". The zero value is empty.
//
// The value is behind a pointer because fmt calls no method on an unexported
// field of another struct: there it prints an address, not the value.
type Secret struct{ value *string }

// NewSecret wraps value.
func NewSecret(value string) Secret { return Secret{&value} }

// Reveal returns the value.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsZero reports whether there is no value, or an empty one.
func (s Secret) IsZero() bool { return s.Reveal() == "" }

func (s Secret) String() string { return redacted }

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return redacted }

// Format covers verbs that use neither String nor GoString.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText covers JSON, YAML and XML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// UnmarshalText lets a configuration parser fill a Secret.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}
