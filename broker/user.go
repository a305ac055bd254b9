package broker

import "time"

// User is somebody who signs in. Email is stored in lower case.
type User struct {
	ID           string
	Email        string
	PasswordHash string // argon2id, PHC string format
	Admin        bool
	CreatedAt    time.Time
}

// TokenKind says what an API token reaches.
type TokenKind string

// Token kinds: a user token acts as its user everywhere; an agent token is
// bound to one agent identifier and reaches only notebooks and /mcp.
const (
	TokenUser  TokenKind = "user"
	TokenAgent TokenKind = "agent"
)

// APITokenPrefix starts every API token. It tells one from the stream tokens of
// hosts, to which none may be sent.
const APITokenPrefix = "bhp_"

// APIToken is a bearer token of a user; the token itself is shown once and
// only its SHA-256 is kept.
type APIToken struct {
	ID              string
	UserID          string
	Name            string
	Kind            TokenKind
	AgentIdentifier string
	Hash            []byte
	ExpiresAt       *time.Time
	LastUsedAt      *time.Time
	CreatedAt       time.Time
}
