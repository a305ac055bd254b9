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

// secretPrefix tells people and scanners what a leaked secret is for.
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

// workspaceSecret is the session's secret, made when first asked for. The lock is
// held.
func (s *session) workspaceSecret() string {
	if s.secret == "" {
		s.secret, _ = token.NewOpaque(secretPrefix)
	}
	return s.secret
}

// secrets are masked in what the session's agent says.
func (s *session) secrets() []string {
	secrets := s.host.opts.Secrets(s.id)
	if s.host.opts.LocalURL == "" {
		return secrets
	}
	return append(slices.Clone(secrets), s.workspaceSecret())
}

// saveWorkspace journals the workspace and its secret, so that the next host knows
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

// local is what of the host the session's agent can reach.
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

// LocalGrant finds the session of a workspace's secret. CodeUnauthorized: nobody
// has it.
func (h *Host) LocalGrant(secret string) (LocalGrant, error) {
	presented := sha256.Sum256([]byte(secret))
	var found *session
	for _, s := range h.all() { // all of them: how long it takes tells nothing
		if proof := s.proof.Load(); proof != nil && subtle.ConstantTimeCompare(proof[:], presented[:]) == 1 {
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

// LocalPath is the workspace of the grant's own session.
func (h *Host) LocalPath(g LocalGrant) (string, error) {
	s, err := h.session(g.SessionID)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Record.Dir, nil
}
