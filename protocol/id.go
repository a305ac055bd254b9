package protocol

import "github.com/google/uuid"

// NewID returns a fresh UUIDv7 (RFC 9562): the form of every id Bellhop makes.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }
