package broker

import (
	"context"
	"strings"
	"time"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// passwordGrace is how long the previous agent password is still tried.
const passwordGrace = 24 * time.Hour

// Targets finds the agent hosts of tasks.
type Targets struct {
	Store           TargetStore
	CustomAgentURL  string // overrides every task's host and URL, and needs no password
	CustomPasswords bool   // CustomAgentURL gets the password of the task or its host
	Now             func() time.Time
}

// TargetStore opens the sealed passwords of a task's host.
type TargetStore interface {
	Host(ctx context.Context, id string) (*Host, error)
	// TaskPasswords returns the task's own passwords, newest first. An empty list
	// is no error.
	TaskPasswords(ctx context.Context, taskID string, now time.Time) ([]seal.Secret, error)
}

// missing reports whether a task has neither a host nor a URL.
func (f *Targets) missing(task *Task) bool {
	return f.CustomAgentURL == "" && task.HostID == "" && task.AgentURL == ""
}

// of returns the target of a task's registered host, or of its own URL.
func (f *Targets) of(ctx context.Context, task *Task) (Target, error) {
	target, err := f.configured(ctx, task)
	if err != nil {
		return Target{}, err
	}
	return f.complete(task, target)
}

// ofFound returns the same target as of, from a host and passwords that are already read.
func (f *Targets) ofFound(found *OpenableTask) (Target, error) {
	if found.Host != nil {
		return f.complete(&found.Task, found.Host.target(f.Now()))
	}
	return f.complete(&found.Task, own(&found.Task, found.Passwords))
}

// complete replaces a task's target by CustomAgentURL if that is set, and sets Events. It
// returns CodeInvalid if the URL or the passwords are missing.
func (f *Targets) complete(task *Task, target Target) (Target, error) {
	target.Events, target.Names = task.HostEvents, task.HostNames
	if f.CustomAgentURL != "" {
		custom := Target{URL: trimURL(f.CustomAgentURL), Events: target.Events, Names: target.Names}
		if f.CustomPasswords {
			custom.Passwords = target.Passwords
		}
		return custom, nil
	}
	if target.URL == "" {
		return Target{}, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "Agent URL not configured",
			Hint: "No agent host can be reached; register one, or give the task an agentUrl",
		}
	}
	if len(target.Passwords) == 0 {
		return Target{}, protocol.Errorf(protocol.CodeInvalid, "Agent password not configured")
	}
	return target, nil
}

// OfHost returns the target of a registered host, with its passwords.
func (f *Targets) OfHost(h *Host) Target { return h.target(f.Now()) }

// OfTask returns the target of a task, for commands.
func (f *Targets) OfTask(ctx context.Context, task *Task) (Target, error) { return f.of(ctx, task) }

// configured returns the task's own target. Its URL or its passwords may be empty.
func (f *Targets) configured(ctx context.Context, task *Task) (Target, error) {
	if task.HostID != "" {
		host, err := f.Store.Host(ctx, task.HostID)
		if err != nil {
			return Target{}, err
		}
		return host.target(f.Now()), nil
	}
	passwords, err := f.Store.TaskPasswords(ctx, task.ID, f.Now())
	return own(task, passwords), err
}

// own returns the target of a task with a URL of its own.
func own(task *Task, passwords []seal.Secret) Target {
	return Target{URL: trimURL(task.AgentURL), Guarded: task.Guarded, Passwords: passwords}
}

func (h *Host) target(now time.Time) Target {
	return Target{
		URL: trimURL(h.URL), Relay: h.Reach == protocol.ReachRelay, Passwords: h.Passwords(now), Names: h.Names,
	}
}

// Passwords returns the passwords that are valid now, newest first.
func (h *Host) Passwords(now time.Time) []seal.Secret {
	var passwords []seal.Secret
	if !h.Password.IsZero() {
		passwords = append(passwords, h.Password)
	}
	if !h.PreviousPassword.IsZero() && h.PreviousUntil != nil && now.Before(*h.PreviousUntil) {
		passwords = append(passwords, h.PreviousPassword)
	}
	return passwords
}

func trimURL(u string) string { return strings.TrimRight(u, "/") }
