package broker

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"bellhop/protocol"
)

// Announcements are notices of administrators to every user. Users read the active
// ones. Registered hosts get the same list, and show it to the clients of their headless
// interface. A host that restarted, or that could not be reached, gets it with the next round.
type Announcements struct {
	Store    AnnouncementStore
	Targets  *Targets
	Link     AnnouncementLink
	BrokerID string // this installation
	Notify   func() // called when the list may have changed; may be nil
	Now      func() time.Time
	Held     func() time.Time // by which old rows are removed; nil = Now
	Log      *slog.Logger

	once  sync.Once
	nudge chan struct{} // a round is due at once

	mu    sync.Mutex
	known string                        // the list that Notify was called for
	hosts map[string]announcedHostState // by host id

	// Only Round uses these.
	isSettled  bool      // the last round found no announcements, and every host knew that there are none
	nextUpkeep time.Time // when old rows are removed, and hosts are read although isSettled
}

// Announcement is a stored announcement.
type Announcement struct {
	protocol.Announcement

	CancelledAt *time.Time
}

// AnnouncementStore stores announcements.
type AnnouncementStore interface {
	Write(ctx context.Context, fn func(ctx context.Context) error) error
	Hosts(ctx context.Context) ([]Host, error)
	// LockAnnouncements makes other transactions wait that create or change announcements. Call it
	// inside Write.
	LockAnnouncements(ctx context.Context) error
	// CreateAnnouncement returns CodeConflict when the id is taken.
	CreateAnnouncement(ctx context.Context, a *Announcement) error
	Announcement(ctx context.Context, id string) (*Announcement, error)
	// ActiveAnnouncements returns those that are neither expired nor cancelled at a time, the oldest first.
	ActiveAnnouncements(ctx context.Context, now time.Time) ([]Announcement, error)
	// CancelAnnouncement ends an announcement; it may be called again.
	CancelAnnouncement(ctx context.Context, id string, now time.Time) error
	// PruneAnnouncements removes the rows that expired before a time.
	PruneAnnouncements(ctx context.Context, before time.Time) (int64, error)
}

// AnnouncementLink sends announcements to a host; broker/hosts implements it. CodeNotFound: the
// host does not support announcements.
type AnnouncementLink interface {
	Announce(ctx context.Context, t Target, req *protocol.HostAnnouncements) error
}

const (
	announceEvery   = 10 * time.Second
	announceTimeout = 5 * time.Second
	announceRetry   = 10 * time.Minute   // until the list is sent again to a host that did not support announcements
	announceUpkeep  = 10 * time.Minute   // between two removals of old rows
	announcementAge = 7 * 24 * time.Hour // how long a row is kept after its announcement expired
)

// announcedHostState is what a host is known to have.
type announcedHostState struct {
	isEmpty bool      // the host has no announcement
	skipTo  time.Time // nothing is sent before, because the host does not support announcements
}

// Announce creates an announcement. A request with the id and the content of an existing one
// returns the existing one, and false.
func (s *Announcements) Announce(
	ctx context.Context, caller Caller, req *protocol.AnnounceRequest,
) (*protocol.Announcement, bool, error) {
	if !caller.Admin {
		return nil, false, protocol.Errorf(protocol.CodeForbidden, "Only administrators make announcements")
	}
	life := cmp.Or(req.ExpiresIn, protocol.DefaultAnnouncementLife)
	if life < protocol.MinAnnouncementLife || life > protocol.MaxAnnouncementLife {
		return nil, false, protocol.Errorf(protocol.CodeInvalid,
			"expiresIn must be from %d to %d seconds", protocol.MinAnnouncementLife, protocol.MaxAnnouncementLife)
	}
	now := nowUTC(s.Now)
	one := &Announcement{Announcement: protocol.Announcement{
		ID: cmp.Or(req.AnnouncementID, protocol.NewID()), Text: strings.TrimSpace(req.Text),
		Level: cmp.Or(req.Level, protocol.AnnouncementInfo), CreatedAt: now,
		ExpiresAt: now.Add(time.Duration(life) * time.Second),
	}}
	if err := protocol.CheckAnnouncement(&one.Announcement); err != nil {
		return nil, false, err
	}
	existing, err := s.create(ctx, one, req.AnnouncementID != "")
	if existing != nil || err != nil {
		return existing, false, err
	}
	s.wake()
	s.Log.InfoContext(ctx, "announcement made", "announcement", one.ID, "by", caller.UserID, "until", one.ExpiresAt)
	return &one.Announcement, true, nil
}

// create stores an announcement, or returns the one that an earlier request with its id made. The
// lock prevents that two replicas together exceed MaxAnnouncements.
func (s *Announcements) create(
	ctx context.Context, one *Announcement, isNamed bool,
) (existing *protocol.Announcement, err error) {
	err = s.Store.Write(ctx, func(ctx context.Context) error {
		existing = nil
		if err := s.Store.LockAnnouncements(ctx); err != nil {
			return err
		}
		if isNamed {
			var err error
			if existing, err = s.repeated(ctx, one); existing != nil || err != nil {
				return err
			}
		}
		active, err := s.Store.ActiveAnnouncements(ctx, one.CreatedAt)
		if err != nil {
			return err
		}
		if len(active) >= protocol.MaxAnnouncements {
			return &protocol.Error{
				Code: protocol.CodeConflict, Message: "There are as many announcements as can hold at the same time",
				Hint: "Take one back with DELETE /api/announcements/ID",
			}
		}
		return s.Store.CreateAnnouncement(ctx, one)
	})
	return existing, err
}

// repeated returns the announcement that an earlier request with the same id made, nil without
// one.
func (s *Announcements) repeated(ctx context.Context, one *Announcement) (*protocol.Announcement, error) {
	existing, err := s.Store.Announcement(ctx, one.ID)
	switch {
	case protocol.CodeOf(err) == protocol.CodeNotFound:
		return nil, nil //nolint:nilnil // it is not a repetition
	case err != nil:
		return nil, err
	case existing.CancelledAt != nil:
		return nil, protocol.Errorf(protocol.CodeGone, "The announcement has been taken back")
	case existing.Text != one.Text || existing.Level != one.Level ||
		existing.ExpiresAt.Sub(existing.CreatedAt) != one.ExpiresAt.Sub(one.CreatedAt):
		return nil, protocol.Errorf(protocol.CodeConflict, "The announcement exists with other content")
	}
	return &existing.Announcement, nil
}

// List returns the active announcements. Every user may read them.
func (s *Announcements) List(ctx context.Context) ([]protocol.Announcement, error) {
	active, err := s.Store.ActiveAnnouncements(ctx, nowUTC(s.Now))
	if err != nil {
		return nil, err
	}
	list := make([]protocol.Announcement, len(active))
	for i := range active {
		list[i] = active[i].Announcement
	}
	return list, nil
}

// Cancel takes an announcement back; it may be repeated.
func (s *Announcements) Cancel(ctx context.Context, caller Caller, id string) error {
	if !caller.Admin {
		return protocol.Errorf(protocol.CodeForbidden, "Only administrators take announcements back")
	}
	if err := s.Store.CancelAnnouncement(ctx, id, nowUTC(s.Now)); err != nil {
		return err
	}
	s.wake()
	return nil
}

// wake makes Run begin a round at once.
func (s *Announcements) wake() {
	select {
	case s.signal() <- struct{}{}:
	default:
	}
}

func (s *Announcements) signal() chan struct{} {
	s.once.Do(func() { s.nudge = make(chan struct{}, 1) })
	return s.nudge
}

// Run sends announcements to the hosts until ctx ends: after changes, and every few seconds,
// because another replica may have made a change and hosts may restart.
func (s *Announcements) Run(ctx context.Context) error {
	ticker := time.NewTicker(announceEvery)
	defer ticker.Stop()
	for {
		s.Round(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-s.signal():
		}
	}
}

// Round sends the list to each host that may lack it. While there are no announcements and every
// host knows that, it only reads the list; every ten minutes it also removes old rows and looks
// for new hosts. Rounds must not run at the same time.
func (s *Announcements) Round(ctx context.Context) {
	list, err := s.List(ctx)
	if err != nil {
		s.report(ctx, "read", "", err)
		return
	}
	s.notify(list)
	now, isEmpty := nowUTC(s.Now), len(list) == 0
	if now.Before(s.nextUpkeep) {
		if isEmpty && s.isSettled {
			return
		}
	} else {
		_, err := s.Store.PruneAnnouncements(ctx, heldUTC(s.Held, s.Now).Add(-announcementAge))
		s.report(ctx, "prune", "", err)
		s.nextUpkeep = now.Add(announceUpkeep)
	}
	hosts, err := s.Store.Hosts(ctx)
	if err != nil {
		s.report(ctx, "read", "", err)
		return
	}
	s.sendAll(ctx, hosts, list)
	s.isSettled = isEmpty && !slices.ContainsFunc(hosts, func(h Host) bool { return s.mayLack(h.ID, isEmpty) })
}

// sendAll sends the list to those hosts that may lack it and can be reached.
func (s *Announcements) sendAll(ctx context.Context, hosts []Host, list []protocol.Announcement) {
	var group errgroup.Group
	group.SetLimit(probesAtOnce)
	for i := range hosts {
		if h := &hosts[i]; h.Health != HostUnreachable && s.mayLack(h.ID, len(list) == 0) {
			group.Go(func() error {
				s.send(ctx, h, list)
				return nil
			})
		}
	}
	_ = group.Wait() // the calls log their own errors
}

// notify calls Notify if the list differs from the one before.
func (s *Announcements) notify(list []protocol.Announcement) {
	raw, _ := json.Marshal(list) // has only strings and times
	s.mu.Lock()
	changed := s.known != string(raw)
	s.known = string(raw)
	s.mu.Unlock()
	if changed && s.Notify != nil {
		s.Notify()
	}
}

// mayLack reports whether a host may not have the list. A list that is not empty is sent each
// time, because hosts forget it when they restart.
func (s *Announcements) mayLack(hostID string, isEmpty bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, known := s.hosts[hostID]
	return !known || s.Now().After(state.skipTo) && (!isEmpty || !state.isEmpty)
}

func (s *Announcements) send(ctx context.Context, h *Host, list []protocol.Announcement) {
	opened, err := s.Targets.Store.Host(ctx, h.ID)
	if err != nil {
		s.report(ctx, "open the host", h.Name, err)
		return
	}
	callCtx, cancel := context.WithTimeout(ctx, announceTimeout)
	defer cancel()
	err = s.Link.Announce(callCtx, s.Targets.OfHost(opened), &protocol.HostAnnouncements{
		BrokerID: s.BrokerID, Announcements: list,
	})
	state := announcedHostState{isEmpty: len(list) == 0}
	switch {
	case protocol.CodeOf(err) == protocol.CodeNotFound:
		state = announcedHostState{skipTo: s.Now().Add(announceRetry)}
	case err != nil:
		s.report(ctx, "send", h.Name, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hosts == nil {
		s.hosts = map[string]announcedHostState{}
	}
	s.hosts[h.ID] = state
}

func (s *Announcements) report(ctx context.Context, step, host string, err error) {
	if err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, "announcements not sent", "step", step, "host", host, "error", err)
	}
}
