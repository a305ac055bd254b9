package protocol

import "github.com/google/uuid"

// NewID returns a new UUIDv7 (RFC 9562). All ids that Bellhop creates have this
// form.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }
