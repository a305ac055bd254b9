package broker

import (
	"fmt"
	"slices"

	"bellhop/protocol"
)

// checkBranch checks the branch of a new task. Whether the project has it is known to the host alone.
func checkBranch(t *Task, workspace string) error {
	switch {
	case t.Branch == "":
		return nil
	case t.Mode != protocol.ModeAgent:
		return errNoAgent()
	case workspace != "":
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "branch and workspace exclude each other",
			Hint: "A workspace that was created by name has a branch already",
		}
	case t.Project == "":
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "branch needs project", Hint: "Name the project that the branch is of",
		}
	}
	return protocol.CheckBranch(t.Branch)
}

// setBranch changes the branch of a task, nil for no change. A task that gets another project needs a
// branch of that project, or none.
func (t *Task) setBranch(branch *string, projectBefore string) error {
	if branch == nil && t.Branch != "" && t.Project != projectBefore {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("The task starts from the branch %q of another project", t.Branch),
			Hint: "Send branch too: one of the new project, or \"\" for the project's default",
		}
	}
	if branch != nil {
		t.Branch = *branch
	}
	return checkBranch(t, t.Workspace)
}

// checkKnowsBranches returns an error if a host has ignored the branch of a request.
func checkKnowsBranches(open *protocol.OpenSessionRequest, response *protocol.OpenSessionResponse) error {
	if open.Branch == "" || slices.Contains(response.Capabilities, protocol.CapabilityBranches) {
		return nil
	}
	return &protocol.Error{
		Code: protocol.CodeInvalid, Message: "The agent host cannot start a task from a branch",
		Hint: "It is a basic agent server: create a task without a branch",
	}
}

// mayHaveBranch reports whether a project can have a branch: the offer lists it, or does not list all.
func mayHaveBranch(p *protocol.OfferedProject, branch string) bool {
	return branch == "" || slices.Contains(p.Branches, branch) || len(p.Branches) == 0 ||
		len(p.Branches) >= protocol.MaxOfferedBranches
}
