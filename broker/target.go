package broker

import (
	"context"
	"errors"
	"strings"
	"time"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// passwordGrace is how long a replaced agent password is tried too.
const passwordGrace = 24 * time.Hour

// errNowhere is behind the error of a task without host and URL.
var errNowhere = errors.New("no host and no URL")

func errNoURL() error {
	return &protocol.Error{
		Code: protocol.CodeInvalid, Message: "Agent URL not configured", Err: errNowhere,
		Hint: "No agent host can be reached; register one, or give the task an agentUrl",
	}
}

func errNoPassword() error {
	return protocol.Errorf(protocol.CodeInvalid, "Agent password not configured")
}

// targetOf finds a task's host. customURL overrides the task's and needs no
// password.
func targetOf(ctx context.Context, store Store, task *Task, customURL string, now time.Time) (Target, error) {
	target := Target{URL: trimURL(task.AgentURL), Guarded: task.Guarded}
	var err error
	if task.HostID != "" {
		target, err = hostTarget(ctx, store, task.HostID, now)
	} else {
		target.Passwords, err = store.TaskPasswords(ctx, task.ID, now)
	}
	if err != nil {
		return Target{}, err
	}
	if customURL != "" {
		return Target{URL: trimURL(customURL), Passwords: target.Passwords}, nil
	}
	if target.URL == "" {
		return Target{}, errNoURL()
	}
	if len(target.Passwords) == 0 {
		return Target{}, errNoPassword()
	}
	return target, nil
}

func hostTarget(ctx context.Context, store Store, hostID string, now time.Time) (Target, error) {
	host, err := store.Host(ctx, hostID)
	if err != nil {
		return Target{}, err
	}
	return host.target(now), nil
}

func (h *Host) target(now time.Time) Target {
	t := Target{URL: trimURL(h.URL), Relay: h.Reach == protocol.ReachRelay}
	if !h.Password.IsZero() {
		t.Passwords = append(t.Passwords, h.Password)
	}
	if !h.PreviousPassword.IsZero() && h.PreviousUntil != nil && now.Before(*h.PreviousUntil) {
		t.Passwords = append(t.Passwords, h.PreviousPassword)
	}
	return t
}

func trimURL(u string) string { return strings.TrimRight(u, "/") }

func revealed(passwords []seal.Secret) []string {
	all := make([]string, len(passwords))
	for i, p := range passwords {
		all[i] = p.Reveal()
	}
	return all
}
