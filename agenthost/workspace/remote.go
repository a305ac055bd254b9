package workspace

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"bellhop/crypto/seal"
	"bellhop/internal/lazyregexp"
	"bellhop/protocol"
)

// destination is the repository to which the work of a project's sessions goes.
type destination struct {
	address string // as git gets it, without passwords for HTTP
	local   string // its directory, if it is on this machine
	user    string // of HTTP; "" = none
	secret  string // password of user
	isOwn   bool   // secret is the user's own token, not the host's
}

// Forges knows the forges of remotes, by the addresses that git has. own is a user's own token for the forge, which
// counts in place of the host's; nil if there is none.
type Forges interface {
	// Kind returns "" if the host knows no forge for an address.
	Kind(address string, own *protocol.ForgeCredential) protocol.ForgeKind
	// Login returns what git signs in with at an http address; user is "" if there is nothing.
	Login(address string, own *protocol.ForgeCredential) (user string, password seal.Secret)
	// Request opens a pull request of a branch, or changes the open one. created is false for a change.
	Request(ctx context.Context, address, head, base string, want *protocol.PullRequestRequest,
		own *protocol.ForgeCredential) (done *protocol.PullRequest, created bool, err error)
}

// findRemote returns the remote of a session's project. Its address comes from the host's configuration, or
// from the operator's own repository: an agent can change neither. CodeNoRemote: the project has none.
// CodeConflict: the user's own token is for another forge.
func (m *Manager) findRemote(
	ctx context.Context, rec *record, own *protocol.ForgeCredential,
) (*destination, error) {
	if rec.Project == "" {
		return nil, errNoRemote("The session works without a project")
	}
	p, err := m.project(rec.Project)
	if err != nil {
		return nil, err
	}
	address, from := p.Clone, m.data
	if address == "" {
		src, err := m.recordSource(ctx, rec)
		if err != nil {
			return nil, err
		}
		address, err = m.remoteAddress(ctx, src)
		if err != nil {
			return nil, err
		}
		from = strings.TrimSuffix(p.Path, string(filepath.Separator)+filepath.FromSlash(src.prefix))
	}
	if address == "" {
		return nil, errNoRemote(fmt.Sprintf("The project %s has no remote", rec.Project))
	}
	to, err := m.parseRemote(address, from)
	if err != nil {
		return nil, err
	}
	return to, m.signIn(to, own)
}

// signIn gives a remote what git signs in with: the user's own token, the password in its address, or the host's token.
func (m *Manager) signIn(to *destination, own *protocol.ForgeCredential) error {
	if own != nil {
		if err := own.Check(); err != nil {
			return err
		}
		if name, _ := protocol.SplitAddress(to.address); name != own.Forge || m.forges == nil {
			return &protocol.Error{
				Code: protocol.CodeConflict, Message: "Your own token is not for the forge of the project's remote",
				Hint: "The remote of the project was changed just now: try again",
			}
		}
	}
	if m.forges == nil || own == nil && to.authorization() != "" {
		return nil
	}
	user, password := m.forges.Login(to.address, own)
	switch {
	case user != "":
		to.user, to.secret, to.isOwn = user, password.Reveal(), own != nil
	case own != nil && strings.HasPrefix(to.address, "http"):
		return &protocol.Error{
			Code: protocol.CodeConflict, Message: "Your own token cannot be used for the remote of the project",
			Hint: "It is sent over https only. The operator changes the address of the remote",
		}
	}
	return nil
}

// remoteAddress returns the address of origin in a project's repository, "" if it has none.
func (m *Manager) remoteAddress(ctx context.Context, src *source) (string, error) {
	out, err := m.inProject(ctx, src, "config", "--local", "--null", "--get-regexp", `^remote\.origin\.(push)?url$`)
	if err != nil && !exitedWith(err, 1) { // 1: there is no such setting
		return "", err
	}
	first := map[string]string{}
	for entry := range strings.SplitSeq(out, "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		if _, known := first[key]; !known {
			first[key] = value
		}
	}
	if address, ok := first["remote.origin.pushurl"]; ok {
		return address, nil
	}
	return first["remote.origin.url"], nil
}

func errNoRemote(message string) error {
	return &protocol.Error{
		Code: protocol.CodeNoRemote, Message: message,
		Hint: "The operator adds one on the agent host: git remote add origin, or clone: in the host's configuration",
	}
}

// shortAddress matches user@host:path, which git takes for ssh.
var shortAddress = lazyregexp.New(`^(?:[A-Za-z0-9._-]+@)?([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9a-fA-F:]+\]):[^:]`)

// parseRemote allows directories of this machine, ssh, and HTTP. A relative directory is one below from.
// CodeNoRemote: git would need another program for the address.
func (m *Manager) parseRemote(address, from string) (*destination, error) {
	scheme, _, isURL := strings.Cut(address, "://")
	switch {
	case isURL && scheme != "file":
		return parseRemoteURL(address)
	case strings.Contains(address, "::"), strings.HasPrefix(address, "-"):
		return nil, errUnusableRemote()
	case !isURL && shortAddress.MatchString(address):
		return &destination{address: address}, nil
	}
	dir := strings.TrimPrefix(address, "file://")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(from, dir)
	}
	// Hooks of such a remote run as the host, so it must not be one that agents can change.
	if below, err := filepath.Rel(filepath.Join(m.data, "workspaces"), dir); err == nil && filepath.IsLocal(below) {
		return nil, errUnusableRemote()
	}
	return &destination{address: dir, local: dir}, nil
}

func parseRemoteURL(address string) (*destination, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" || strings.HasPrefix(parsed.Host, "-") {
		return nil, errUnusableRemote()
	}
	switch parsed.Scheme {
	case "ssh":
		return &destination{address: address}, nil
	case "http", "https":
	default:
		return nil, errUnusableRemote()
	}
	found := &destination{}
	if parsed.User != nil {
		found.user = parsed.User.Username()
		found.secret, _ = parsed.User.Password()
	}
	parsed.User = nil
	found.address = parsed.String()
	return found, nil
}

func errUnusableRemote() error {
	return &protocol.Error{
		Code: protocol.CodeNoRemote, Message: "The host does not push to the remote of the project",
		Hint: "It pushes to https, http and ssh addresses, and to directories outside of its own workspaces",
	}
}

// shown returns the address for people.
func (r *destination) shown() string {
	return protocol.SanitizeText(strings.ToValidUTF8(withoutPasswords(r.address), "\uFFFD"))
}

// hide removes the password from a text of git.
func (r *destination) hide(text string) string {
	text = withoutPasswords(text)
	for _, secret := range []string{r.secret, url.PathEscape(r.secret), url.QueryEscape(r.secret), r.authorization()} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return text
}

func (r *destination) authorization() string {
	if r.user == "" && r.secret == "" {
		return ""
	}
	return base64.StdEncoding.EncodeToString([]byte(r.user + ":" + r.secret))
}

// settings are those with which git connects to the remote. A password is not in a command line, which every
// user of the machine can read, and does not go to another server.
func (r *destination) settings() [][2]string {
	settings := [][2]string{
		{"http.followRedirects", "false"},
		{"core.sshCommand", "ssh -o BatchMode=yes -o ConnectTimeout=20"},
	}
	if header := r.authorization(); header != "" {
		settings = append(settings, [2]string{"http.extraHeader", "Authorization: Basic " + header})
	}
	return settings
}

// base returns the branch of the project that a session's work is meant for, "" if none is known.
func (m *Manager) base(ctx context.Context, rec *record) (string, error) {
	p := m.projects[rec.Project]
	if known := cmp.Or(rec.From, p.Branch); known != "" {
		return known, nil
	}
	src, err := m.recordSource(ctx, rec)
	if err != nil {
		return "", err
	}
	refs := []string{"HEAD", "refs/remotes/origin/HEAD"}
	if p.Clone != "" {
		refs = refs[1:]
	}
	for _, ref := range refs {
		out, err := m.inProject(ctx, src, "symbolic-ref", "--quiet", ref)
		for _, prefix := range []string{"refs/heads/", "refs/remotes/origin/"} {
			if name, ok := strings.CutPrefix(out, prefix); ok && err == nil && protocol.CheckBranch(name) == nil {
				return name, nil
			}
		}
		if err != nil && !exitedWith(err, 1) && !exitedWith(err, 128) {
			return "", err
		}
	}
	return "", nil
}
