package protocol

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// MaxForgeToken is how many bytes the token for a forge has at most.
const MaxForgeToken = 1 << 10

// ForgeToken is a user's own token for a forge, without the token itself: a broker never shows that again.
type ForgeToken struct {
	ID         string     `json:"id"`
	Forge      string     `json:"forge"` // host name in the addresses of remotes, with a port if they have one
	Kind       ForgeKind  `json:"kind"`
	CreatedAt  time.Time  `json:"createdAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"` // when it was last sent to a host for an act; null if never
}

// ForgeTokenList is the response to GET /api/forge-tokens.
type ForgeTokenList struct {
	Tokens []ForgeToken `json:"tokens"`
}

// ForgeCredential is a user's own token for a forge. It is the body of POST /api/forge-tokens of a broker, and a part
// of the bodies that a broker sends to a host for one act of the user.
type ForgeCredential struct {
	Forge string    `json:"forge"`          // as of ForgeToken; a broker also takes the forge's address
	Kind  ForgeKind `json:"kind,omitempty"` // a broker knows that of public forges
	Token string    `json:"token"`
}

var publicForges = map[string]ForgeKind{
	"github.com": ForgeGitHub, "gitlab.com": ForgeGitLab, "gitea.com": ForgeGitea, "codeberg.org": ForgeGitea,
}

// PublicForge returns the kind of a public forge by its name, "" for another one.
func PublicForge(name string) ForgeKind { return publicForges[name] }

var (
	forgeName    = pattern(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$`)
	shortAddress = pattern(`^(?:[A-Za-z0-9._-]+@)?([A-Za-z0-9.-]+):(.+)$`)
)

// IsForgeName reports whether a text can be the name of a forge.
func IsForgeName(name string) bool { return forgeName().MatchString(name) }

// SplitAddress returns the name of the forge that an address of git means, and the path there. name is "" for an
// address without a server.
func SplitAddress(address string) (name, path string) {
	if parsed, err := url.Parse(address); err == nil && parsed.Host != "" {
		if parsed.Scheme == "ssh" { // its port is not the forge's
			return strings.ToLower(parsed.Hostname()), parsed.Path
		}
		return strings.ToLower(parsed.Host), parsed.Path
	}
	if parts := shortAddress().FindStringSubmatch(address); parts != nil && !strings.Contains(address, "://") {
		return strings.ToLower(parts[1]), parts[2]
	}
	return "", ""
}

func isNoTokenChar(char rune) bool { return char <= ' ' || char > '~' }

// Check completes and checks a credential. CodeInvalid: it names no forge, or its kind or token cannot be one.
func (c *ForgeCredential) Check() error {
	name := strings.ToLower(strings.TrimSpace(c.Forge))
	if found, _ := SplitAddress(name); found != "" && strings.Contains(name, "://") {
		name = found
	}
	c.Forge = strings.TrimRight(name, "/")
	if c.Kind == "" {
		c.Kind = PublicForge(c.Forge)
	}
	c.Token = strings.TrimSpace(c.Token)
	switch {
	case !IsForgeName(c.Forge):
		return &Error{
			Code: CodeInvalid, Message: "forge is not the name of a server",
			Hint: "It is the host name in the addresses of remotes, such as github.com, with a port if they have one",
		}
	case !slices.Contains(ForgeKinds(), c.Kind):
		return &Error{
			Code: CodeInvalid, Message: "kind is required for this forge", Hint: "It is github, gitlab or gitea",
		}
	case c.Token == "":
		return &Error{
			Code: CodeInvalid, Message: "token is required", Hint: "Make one at the forge that may write the repository",
		}
	case len(c.Token) > MaxForgeToken, strings.ContainsFunc(c.Token, isNoTokenChar):
		return &Error{
			Code: CodeInvalid, Message: "token is no token of a forge", Hint: "It is one line without spaces, at most 1 KiB",
		}
	}
	return nil
}
