package forge

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"bellhop/crypto/seal"
	"bellhop/internal/lazyregexp"
	"bellhop/protocol"
)

// Config is a forge of the host's configuration.
type Config struct {
	Kind  protocol.ForgeKind // "" = by the name, for public forges
	API   string             // base URL of its API; "" = as the kind has it
	Token seal.Secret
}

// Set has the forges of a host by name: the host name in the addresses of remotes, with a port if they have one.
type Set struct {
	forges map[string]*forge
	now    func() time.Time
}

// forge is one forge.
type forge struct {
	name    string
	kind    protocol.ForgeKind
	dialect *dialect
	api     *url.URL
	prefix  string // path of the forge below its host, "" = none
	token   seal.Secret
	isOwn   bool // token is the user's, not the host's
	client  *http.Client
	now     func() time.Time
}

// New checks the forges. CodeInvalid: one cannot be used.
func New(configs map[string]Config, now func() time.Time) (*Set, error) {
	set := &Set{forges: make(map[string]*forge, len(configs)), now: now}
	for name, config := range configs {
		added, err := newForge(name, config, now)
		if err != nil {
			return nil, err
		}
		set.forges[name] = added
	}
	return set, nil
}

func newForge(name string, config Config, now func() time.Time) (*forge, error) {
	invalid := func(format string, args ...any) (*forge, error) {
		return nil, protocol.Errorf(protocol.CodeInvalid, "forge %q: "+format, append([]any{name}, args...)...)
	}
	if !protocol.IsForgeName(name) {
		return invalid("the name is the host name of remotes in lower case, with a port if they have one")
	}
	kind := config.Kind
	if kind == "" {
		kind = protocol.PublicForge(name)
	}
	dialect := dialects[kind]
	if dialect == nil {
		return invalid("kind is one of %v", protocol.ForgeKinds())
	}
	if config.Token.IsZero() {
		return invalid("it has no token: name its file with tokenFile, or a variable with tokenVariable")
	}
	address := config.API
	if address == "" {
		address = dialect.apiOf(name)
	}
	api, err := url.Parse(strings.TrimRight(address, "/"))
	if err != nil || api.Hostname() == "" || api.User != nil || api.RawQuery != "" || api.Fragment != "" {
		return invalid("url is not the base address of an API")
	}
	if api.Scheme != "https" && (api.Scheme != "http" || !isLoopback(api.Hostname())) {
		return invalid("url needs https, because a token is sent there")
	}
	return &forge{
		name: name, kind: kind, dialect: dialect, api: api, token: config.Token, client: newClient(api), now: now,
		prefix: strings.Trim(strings.TrimSuffix(api.Path, dialect.suffix), "/"),
	}, nil
}

// isLoopback reports whether a host of a URL is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// newClient returns a client that reaches one forge only, and returns redirects instead of following them.
func newClient(api *url.URL) *http.Client {
	return &http.Client{
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: guarded{api.Scheme, api.Host, &http.Transport{
			Proxy:                  http.ProxyFromEnvironment, // the operator chose the address of the forge
			DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
			ResponseHeaderTimeout:  25 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			IdleConnTimeout:        30 * time.Second,
			DisableKeepAlives:      true, // a few requests a day
		}},
	}
}

// guarded refuses requests to other servers.
type guarded struct {
	scheme, host string
	next         http.RoundTripper
}

func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != g.scheme || r.URL.Host != g.host {
		return nil, fmt.Errorf("the forge is not at %s", r.URL.Host)
	}
	return g.next.RoundTrip(r)
}

// place is a repository at a forge.
type place struct {
	*forge
	repository string // its path, such as "owner/name"
}

var pathSegment = lazyregexp.New(`^[A-Za-z0-9_~.-]+$`)

// find returns the repository that an address of git means, or nil if neither a configured forge nor that of the
// user's own token has it.
func (s *Set) find(address string, own *protocol.ForgeCredential) *place {
	name, path := protocol.SplitAddress(address)
	found := s.forges[name]
	if own != nil && own.Forge == name {
		found = s.with(found, own)
	}
	if found == nil {
		return nil
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	if found.prefix != "" {
		path = strings.TrimPrefix(path, found.prefix+"/")
	}
	segments := strings.Split(path, "/")
	if len(segments) < 2 || len(segments) > found.dialect.depth || slices.ContainsFunc(segments, func(s string) bool {
		return !pathSegment.MatchString(s) || s == "." || s == ".."
	}) {
		return nil
	}
	return &place{found, path}
}

// with returns a forge with a user's own token in place of the host's. If the forge is not configured, its API is
// where its kind has it. nil: the credential cannot be used.
func (s *Set) with(configured *forge, own *protocol.ForgeCredential) *forge {
	if configured == nil {
		made, err := newForge(own.Forge, Config{Kind: own.Kind, Token: seal.NewSecret(own.Token)}, s.now)
		if err != nil {
			return nil
		}
		configured = made
	}
	changed := *configured
	changed.token, changed.isOwn = seal.NewSecret(own.Token), true
	return &changed
}

// Kind returns the kind of the forge that has the repository of an address, "" if none is known. own is the user's own
// token, nil if there is none.
func (s *Set) Kind(address string, own *protocol.ForgeCredential) protocol.ForgeKind {
	if at := s.find(address, own); at != nil {
		return at.kind
	}
	return ""
}

// Login returns what git signs in with at an http address of a forge; user is "" if there is nothing.
func (s *Set) Login(address string, own *protocol.ForgeCredential) (user string, password seal.Secret) {
	parsed, err := url.Parse(address)
	at := s.find(address, own)
	if err != nil || at == nil || parsed.Scheme != "https" && (parsed.Scheme != "http" || !isLoopback(parsed.Hostname())) {
		return "", seal.Secret{}
	}
	return at.dialect.user, at.token
}
