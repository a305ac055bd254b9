package protocol

import (
	"strings"

	"github.com/google/uuid"
)

// NewID returns a new UUIDv7 (RFC 9562). All ids that Bellhop creates have this
// form.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// DerivedID returns the id that these names always have: a UUIDv5 (RFC 9562).
func DerivedID(names ...string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(strings.Join(names, "\x00"))).String()
}
