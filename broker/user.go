package broker

import (
	"time"

	"bellhop/crypto/seal"
)

// User is an account. Email is stored in lower case.
type User struct {
	ID           string
	Email        string
	PasswordHash string // argon2id, PHC string format
	Admin        bool
	CreatedAt    time.Time

	SessionsAfter *time.Time // sessions that began before it have ended; nil = none have
	DisabledAt    *time.Time // the user may not sign in; nil = they may
	DeletedAt     *time.Time // maintenance erases the user; nil = it does not

	SecondFactor bool // a password alone does not sign in; set by reads, and ignored when a user is stored
}

// Active reports whether the user may sign in.
func (u *User) Active() bool { return u.DisabledAt == nil && u.DeletedAt == nil }

// SecondFactor is the secret that a user's authenticator app computes codes from.
type SecondFactor struct {
	UserID        string
	Secret        seal.Secret // base32
	LastStep      int64       // of the last code that was used; earlier ones and this one work no more
	CreatedAt     time.Time
	ConfirmedAt   *time.Time // nil: no code has shown yet that an app has the secret, so sign-ins need no code
	RecoveryCodes int        // how many are left
}

// Enrolment is a second factor that its user has not confirmed yet.
type Enrolment struct {
	Secret seal.Secret // as people type it into an app
	URI    seal.Secret // the content of a QR code; it has the secret
}

// SignIn is a session of a browser, as its user sees it. Its cookie is not part of it.
type SignIn struct {
	ID         string
	UserID     string
	UserAgent  string // as the browser sent it at the last use
	Address    string // of the client at the last use
	BeganAt    time.Time
	LastUsedAt time.Time // at most a minute old
	ExpiresAt  time.Time
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
	Scopes          []Scope // what it may be used for
	Hash            []byte
	ExpiresAt       *time.Time
	LastUsedAt      *time.Time
	CreatedAt       time.Time
}

// AttemptLimit allows Burst sign-in attempts at once, and then one attempt per period of Every.
type AttemptLimit struct {
	Burst int
	Every time.Duration
}
