package workspace

import (
	"context"
	"strings"

	"bellhop/protocol"
)

// newBranch returns a branch name that the repository with these refs does not have.
func newBranch(rec *record, refs map[string]string) (string, error) {
	short := shortID(rec)
	for _, name := range []string{
		"bellhop/" + short, "bellhop/" + short + "-" + shortHash(rec.Key), "bellhop-" + short + "-" + shortHash(rec.Key),
	} {
		// Git cannot create bellhop/x if a branch "bellhop" exists.
		if refs["refs/heads/"+name] == "" && refs["refs/heads/"+strings.Split(name, "/")[0]] == "" {
			return name, nil
		}
	}
	return "", protocol.Errorf(protocol.CodeConflict, "The branches that a session of %s would get are taken", rec.Project)
}

// shortID returns the random end of a UUID. Other ids may hold characters that a
// branch must not, so they are hashed.
func shortID(rec *record) string {
	id := rec.Session
	if id == "" {
		return strings.Trim(strings.TrimPrefix(rec.Key, "@"), ".")
	}
	if len(id) == 36 && strings.Count(id, "-") == 4 {
		return strings.ToLower(id[28:])
	}
	return shortHash(id)[:8]
}

func (m *Manager) hasCommit(ctx context.Context, src *source, ref string) (bool, error) {
	_, err := m.inProject(ctx, src, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err != nil && !exitedWith(err, 1) && !exitedWith(err, 128) {
		return false, err
	}
	return err == nil, nil
}
