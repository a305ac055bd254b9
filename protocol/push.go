package protocol

// PushRequest is the body of POST /session/:id/push of an agent host, and of POST /api/tasks/:id/push of a
// broker.
type PushRequest struct {
	// Replaces allows the push to remove commits: it is the commit that the branch has at the remote. Without
	// it a push only adds commits.
	Replaces string `json:"replaces,omitempty"`
}

var commitID = pattern(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// IsCommitID reports whether a text is the full id of a commit.
func IsCommitID(text string) bool { return commitID().MatchString(text) }

// Check returns CodeInvalid unless Replaces is empty or the full id of a commit.
func (r *PushRequest) Check() error {
	if r.Replaces == "" || IsCommitID(r.Replaces) {
		return nil
	}
	return &Error{
		Code: CodeInvalid, Message: "replaces is not the id of a commit",
		Hint: "It is remote.diverged of the workspace: the commit that the branch has at the remote",
	}
}

// PushResponse is the response to a PushRequest. A repeated request gets it again.
type PushResponse struct {
	Success   bool   `json:"success"`
	SessionID string `json:"sessionId"`
	Commit    string `json:"commit"` // that the branch has at the remote now
	Branch    string `json:"branch"`
	Remote    string `json:"remote"`   // its address, without passwords
	Replaced  string `json:"replaced"` // the commit that the branch had there and that was removed; "" for none
}

// FetchResponse is the response to POST /session/:id/fetch of an agent host, and to POST /api/tasks/:id/fetch of a
// broker. The commits that it names are in the workspace, under refs/remotes/origin.
type FetchResponse struct {
	Success    bool   `json:"success"`
	SessionID  string `json:"sessionId"`
	Branch     string `json:"branch"`     // that is checked out
	Base       string `json:"base"`       // branch of the project that the work is meant for; "" if none is known
	Diverged   string `json:"diverged"`   // commit of Branch at the remote that the workspace's branch does not contain; "" for none
	BaseCommit string `json:"baseCommit"` // commit of Base at the remote that the workspace's branch does not contain; "" for none
}

// RemoteState is what the host knows of the remote to which it pushes a workspace's branch.
type RemoteState struct {
	Address string `json:"address"`          // without passwords
	Base    string `json:"base,omitempty"`   // branch of the project that the work is meant for
	Pushed  string `json:"pushed,omitempty"` // the commit that was pushed last
	Ahead   int    `json:"ahead"`            // commits that no branch of the remote had when the host or the agent looked

	// Diverged is the commit that the branch has at the remote, if the workspace's branch does not contain it.
	Diverged string `json:"diverged,omitempty"`
	// Forge is absent if the host knows no forge for the remote: it opens no pull requests then.
	Forge       ForgeKind    `json:"forge,omitempty"`
	PullRequest *PullRequest `json:"pullRequest,omitempty"` // that the host opened, or changed last, for the branch
	// TakesToken: the host uses a user's own token in place of its own.
	TakesToken bool `json:"takesToken,omitempty"`
	// BaseMoved: the last push or fetch found commits in Base that the workspace's branch does not contain.
	BaseMoved bool `json:"baseMoved,omitempty"`
}
