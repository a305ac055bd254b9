package agenthost

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/url"
	"slices"

	"bellhop/agenthost/core"
	"bellhop/crypto/token"
	"bellhop/protocol"
)

// secretPrefix marks a leaked secret for people and for scanners.
const secretPrefix = "bhw_"

// Variables of programs in a workspace.
const (
	envWorkspacePath   = "BELLHOP_WORKSPACE_PATH"
	envMCPPort         = "BELLHOP_MCP_PORT"
	envHookPort        = "BELLHOP_HOOK_PORT"
	envWorkspaceSecret = "BELLHOP_WORKSPACE_SECRET" //nolint:gosec // a name
)

// LocalGrant is what the bearer of a workspace's secret may do: it acts for the
// session, in the workspace at Path.
type LocalGrant struct {
	SessionID string
	Project   string
	Path      string
}

// workspaceSecret returns the session's secret and makes it at the first call. The
// session's lock is held.
func (s *session) workspaceSecret() string {
	if s.secret == "" {
		s.secret, _ = token.NewOpaque(secretPrefix)
	}
	return s.secret
}

// secrets returns what is masked in the output of the session's agent.
func (s *session) secrets() []string {
	secrets := s.host.opts.Secrets(s.id)
	if s.host.opts.LocalURL == "" {
		return secrets
	}
	return append(slices.Clone(secrets), s.workspaceSecret())
}

// saveWorkspace journals the workspace and its secret: the next host still accepts
// programs that outlive this one.
func (s *session) saveWorkspace(dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := core.WorkspaceUsed{Dir: dir}
	if s.host.opts.LocalURL != "" {
		in.Secret = s.workspaceSecret()
	}
	_, err := s.apply(in)
	return err
}

// local returns what the session's agent can reach on the host, and its variables.
func (s *session) local(dir string) (*Local, []string) {
	env := []string{envWorkspacePath + "=" + dir}
	base := s.host.opts.LocalURL
	u, err := url.Parse(base)
	if base == "" || err != nil {
		return nil, env
	}
	s.mu.Lock()
	secret := s.workspaceSecret()
	s.mu.Unlock()
	return &Local{MCPURL: base + "/mcp", HookURL: base + "/hook", Secret: secret}, append(env,
		envMCPPort+"="+u.Port(), envHookPort+"="+u.Port(), envWorkspaceSecret+"="+secret)
}

// LocalGrant returns the grant of a workspace's secret. CodeUnauthorized: no session
// has it.
func (h *Host) LocalGrant(secret string) (LocalGrant, error) {
	presented := sha256.Sum256([]byte(secret))
	var found *session
	for _, s := range h.all() { // every session is compared: the time taken reveals nothing
		if hash := s.secretHash.Load(); hash != nil && subtle.ConstantTimeCompare(hash[:], presented[:]) == 1 {
			found = s
		}
	}
	if found == nil {
		return LocalGrant{}, &protocol.Error{
			Code: protocol.CodeUnauthorized, Message: "Unauthorized",
			Hint: "Send Authorization: Bearer and the workspace's secret, BELLHOP_WORKSPACE_SECRET in its agent's environment",
		}
	}
	found.mu.Lock()
	defer found.mu.Unlock()
	return LocalGrant{SessionID: found.id, Project: found.state.Record.Project, Path: found.state.Record.Dir}, nil
}

// Occupied reports whether a session works in the workspace.
func (h *Host) Occupied(path string) bool {
	return slices.ContainsFunc(h.all(), func(s *session) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.state.Record.Dir == path
	})
}

// LocalPath returns the workspace of the grant's own session.
func (h *Host) LocalPath(g LocalGrant) (string, error) {
	s, err := h.session(g.SessionID)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Record.Dir, nil
}
