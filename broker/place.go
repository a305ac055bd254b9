package broker

import (
	"cmp"
	"context"
	"net/url"
	"slices"

	"bellhop/protocol"
)

const maxURL = 2000

// setPlace sets a task's host or URL; they exclude each other.
func (s *Tasks) setPlace(ctx context.Context, caller Caller, t *Task, hostID, agentURL string) error {
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
	if t.HostID != hostID || t.AgentURL != trimURL(agentURL) {
		t.HostSigns, t.HostCredentials, t.HostNames = false, false, false // until the new host announces it
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

// checkHTTPURL accepts http and https URLs with a host to which a path can be
// appended.
func checkHTTPURL(name, raw string) error {
	u, err := url.Parse(raw)
	if err != nil || len(raw) > maxURL || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return protocol.Errorf(protocol.CodeInvalid, "%s must be an http or https URL without user, query and fragment", name)
	}
	return nil
}

// maxAsked limits how many hosts are asked for one task whether they are ready.
const maxAsked = 3

// pickHost returns the host for a task that names none, "" if none is known to be reachable: of the hosts that suit it
// best, the first that answers that it is ready, since a host may have ended after its last probe. If none of them
// answers it is the first all the same: it may be back soon, which a host without the task's project never helps.
func pickHost(ctx context.Context, store HostLister, offers *Offers, t *Task) (string, error) {
	hosts, fits, err := rankHosts(ctx, store, offers, t)
	if err != nil {
		return "", err
	}
	if len(hosts) == 0 {
		return "", nil
	}
	first := fits[hosts[0].ID]
	best := slices.DeleteFunc(hosts, func(h Host) bool { return fits[h.ID] != first })
	if len(best) > 1 {
		for i := range best[:min(len(best), maxAsked)] {
			if offers.isReady(ctx, &best[i]) {
				return best[i].ID, nil
			}
		}
	}
	return best[0].ID, ctx.Err()
}

// rankHosts returns the hosts that could take a task when they were last probed: first those that offer the task's
// agent and project, then those with room on their disk, then those with the fewest open turns. A host whose disk
// is full cannot start a turn. It also returns how well each suits the task, by its id.
func rankHosts(
	ctx context.Context, store HostLister, offers *Offers, t *Task,
) (hosts []Host, fits map[string]fit, err error) {
	if hosts, err = store.Hosts(ctx); err != nil {
		return nil, nil, err
	}
	hosts = slices.DeleteFunc(hosts, func(h Host) bool { return !takesTurns(h.Health) })
	fits = offers.fits(ctx, hosts, t)
	slices.SortStableFunc(hosts, func(a, b Host) int {
		return cmp.Or(
			cmp.Compare(fits[a.ID], fits[b.ID]),
			cmp.Compare(healthRank(&a), healthRank(&b)),
			cmp.Compare(a.OpenTurns, b.OpenTurns),
		)
	})
	return hosts, fits, nil
}

func takesTurns(health HostHealth) bool { return health != HostUnreachable && health != HostFull }

// healthRank sorts hosts that were never probed, or whose disk has little room, after the others.
func healthRank(h *Host) int {
	if h.Health == HostOK {
		return 0
	}
	return 1
}

// placeLate assigns a host to a task for which none was reachable at its creation.
// If none is reachable now, it returns the task unchanged.
func (s *Sessions) placeLate(ctx context.Context, task *Task) (*Task, error) {
	hostID, err := pickHost(ctx, s.Store, s.Offers, task)
	if err != nil || hostID == "" {
		return task, err
	}
	tx, err := s.Updater.updateTask(ctx, task.UserID, task.ID, func(_ context.Context, tx *taskTx) error {
		if t := tx.task; t.Mode == protocol.ModeAgent && t.HostID == "" && t.AgentURL == "" {
			t.HostID = hostID
			tx.touch()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return tx.task, nil
}
