package broker

import (
	"context"
	"net/url"
	"slices"

	"bellhop/protocol"
)

const maxURL = 2000

// where sets a task's host or URL; both is one too many.
func (s *Tasks) where(ctx context.Context, caller Caller, t *Task, hostID, agentURL string) error {
	if hostID != "" && agentURL != "" {
		return protocol.Errorf(protocol.CodeInvalid, "hostId and agentUrl exclude each other")
	}
	if hostID != "" {
		if _, err := s.Store.Host(ctx, hostID); protocol.CodeOf(err) == protocol.CodeNotFound {
			return protocol.Errorf(protocol.CodeInvalid, "hostId names no registered host")
		} else if err != nil {
			return err
		}
	}
	if agentURL != "" {
		if err := s.checkURL(caller, agentURL); err != nil {
			return err
		}
	}
	t.HostID, t.AgentURL = hostID, trimURL(agentURL)
	t.Guarded = agentURL != "" && !caller.Admin
	return nil
}

func (s *Tasks) checkURL(caller Caller, raw string) error {
	if err := checkHTTPURL("agentUrl", raw); err != nil {
		return err
	}
	if caller.Admin || s.CheckURL == nil {
		return nil
	}
	if err := s.CheckURL(raw); err != nil {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "agentUrl is not allowed", Err: err,
			Hint: "private addresses need an administrator, or a registered host",
		}
	}
	return nil
}

// checkHTTPURL takes http and https URLs with a host, and nothing that a path
// could not be appended to.
func checkHTTPURL(name, raw string) error {
	u, err := url.Parse(raw)
	if err != nil || len(raw) > maxURL || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return protocol.Errorf(protocol.CodeInvalid, "%s must be an http or https URL without user, query and fragment", name)
	}
	return nil
}

// place picks the reachable host with the fewest open turns; hosts that were
// never probed come after those that are known to answer. "" when there is none.
func place(ctx context.Context, store HostStore) (string, error) {
	hosts, err := store.Hosts(ctx)
	if err != nil {
		return "", err
	}
	hosts = slices.DeleteFunc(hosts, func(h Host) bool { return h.Health == HostUnreachable })
	if len(hosts) == 0 {
		return "", nil
	}
	best := slices.MinFunc(hosts, func(a, b Host) int {
		if (a.Health == HostOK) != (b.Health == HostOK) {
			if a.Health == HostOK {
				return -1
			}
			return 1
		}
		return a.OpenTurns - b.OpenTurns
	})
	return best.ID, nil
}

// placeLate gives a task a host that had none when it was made, because none
// could be reached then: it would never work otherwise.
func (s *Sessions) placeLate(ctx context.Context, userID, taskID string) error {
	hostID, err := place(ctx, s.Store)
	if err != nil || hostID == "" {
		return err
	}
	var e *edit
	err = s.Store.Write(ctx, func(ctx context.Context) error {
		var err error
		if e, err = lock(ctx, s.Store, userID, taskID, at(s.Now)); err != nil {
			return err
		}
		if t := e.task; t.Mode == protocol.ModeAgent && t.HostID == "" && t.AgentURL == "" {
			t.HostID = hostID
			e.touch()
		}
		return e.save(ctx)
	})
	if err == nil && len(e.batch.Changes) > 0 {
		s.notify(e.task)
	}
	return err
}
