package broker

import "time"

// User is an account. Email is stored in lower case.
type User struct {
	ID           string
	Email        string
	PasswordHash string // argon2id, PHC string format
	Admin        bool
	CreatedAt    time.Time
}

// TokenKind decides which parts of the API a token may use.
type TokenKind string

// Token kinds. A user token has the rights of its user. An agent token is bound to
// one agent identifier, and may only use notebooks and /mcp.
const (
	TokenUser  TokenKind = "user"
	TokenAgent TokenKind = "agent"
)

// APITokenPrefix begins every API token. The relay recognizes API tokens by it, so
// that it never forwards one to a host.
const APITokenPrefix = "bhp_"

// APIToken is a bearer token of a user. The token itself is returned once; only its
// SHA-256 is stored.
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

// AttemptLimit allows a burst of sign-in attempts, and after it one attempt Every so long.
type AttemptLimit struct {
	Burst int
	Every time.Duration
}
