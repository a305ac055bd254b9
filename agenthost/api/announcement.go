package api

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"bellhop/internal/wsline"
	"bellhop/protocol"
)

// maxAnnouncers limits the brokers whose announcements a host keeps.
const maxAnnouncers = 64

// board has the announcements that the host shows to WebSocket clients: those of brokers and the
// host's own. They are in memory only, because brokers send their lists again.
type board struct {
	now func() time.Time

	mu       sync.Mutex
	byBroker map[string][]protocol.Announcement // that of "" is the host's own
}

// ownAnnouncements is the host itself among the brokers of a board.
const ownAnnouncements = ""

func (a *API) putAnnouncements(
	_ context.Context, req *protocol.HostAnnouncements,
) (*protocol.HostAnnouncementsResponse, error) {
	switch {
	case req.BrokerID == "" || len(req.BrokerID) > 128:
		return nil, protocol.Errorf(protocol.CodeInvalid, "brokerId must have 1 to 128 characters")
	case len(req.Announcements) > protocol.MaxAnnouncements:
		return nil, protocol.Errorf(protocol.CodeInvalid, "there are more than %d announcements", protocol.MaxAnnouncements)
	}
	for i := range req.Announcements {
		if err := protocol.CheckAnnouncement(&req.Announcements[i]); err != nil {
			return nil, err
		}
	}
	if err := a.channels.show(req.BrokerID, req.Announcements); err != nil {
		return nil, err
	}
	return &protocol.HostAnnouncementsResponse{Success: true, BrokerID: req.BrokerID}, nil
}

// ShowNotice shows a notice of the host itself to all clients, and to later ones, until it is
// called again with the same id. An empty text ends the notice; after, which may be empty, is
// then shown once.
func (a *API) ShowNotice(id string, level protocol.AnnouncementLevel, text, after string) {
	b := &a.channels.board
	b.mu.Lock()
	defer b.mu.Unlock()
	own := slices.DeleteFunc(slices.Clone(b.byBroker[ownAnnouncements]),
		func(n protocol.Announcement) bool { return n.ID == id })
	notice := protocol.Announcement{ID: id, Level: level, Text: text}
	if text != "" {
		own = append(own, notice)
		a.channels.toAll(announcementLine(&notice))
	} else if after != "" {
		a.channels.toAll(noticeLine(string(level), after, announcementMetadata{ID: id, Cancelled: true}))
	}
	b.setLocked(ownAnnouncements, own)
}

// ownNotices returns the host's own notices, for its offer.
func (a *channels) ownNotices() []protocol.HostNotice {
	a.board.mu.Lock()
	defer a.board.mu.Unlock()
	var notices []protocol.HostNotice
	for _, n := range a.board.byBroker[ownAnnouncements] {
		notices = append(notices, protocol.HostNotice{ID: n.ID, Level: n.Level, Text: n.Text})
	}
	return notices
}

// show replaces a broker's announcements. Clients get those that are new, and a
// notice for each that was withdrawn.
func (a *channels) show(brokerID string, list []protocol.Announcement) error {
	b := &a.board
	b.mu.Lock()
	defer b.mu.Unlock()
	before, known := b.byBroker[brokerID]
	if !known && len(list) > 0 && b.brokersLocked() >= maxAnnouncers {
		return &protocol.Error{
			Code: protocol.CodeTooManyRequests, Message: "Too many brokers announce something at this host", RetryAfter: 60,
		}
	}
	b.setLocked(brokerID, list)
	now := b.now()
	for i := range before {
		if !has(list, before[i].ID) && !expired(&before[i], now) {
			a.toAll(cancelledLine(&before[i]))
		}
	}
	for i := range list {
		if !has(before, list[i].ID) && !expired(&list[i], now) {
			a.toAll(announcementLine(&list[i]))
		}
	}
	return nil
}

func (b *board) setLocked(brokerID string, list []protocol.Announcement) {
	if b.byBroker == nil {
		b.byBroker = map[string][]protocol.Announcement{}
	}
	if b.byBroker[brokerID] = list; len(list) == 0 {
		delete(b.byBroker, brokerID)
	}
}

// brokersLocked returns the number of brokers with announcements that have not expired.
func (b *board) brokersLocked() int {
	now, n := b.now(), 0
	for id, list := range b.byBroker {
		switch {
		case slices.ContainsFunc(list, func(one protocol.Announcement) bool { return !expired(&one, now) }):
			n++
		default:
			delete(b.byBroker, id)
		}
	}
	return n
}

func has(list []protocol.Announcement, id string) bool {
	return slices.ContainsFunc(list, func(one protocol.Announcement) bool { return one.ID == id })
}

// expired reports whether an announcement has expired; the host's own do not.
func expired(one *protocol.Announcement, now time.Time) bool {
	return !one.ExpiresAt.IsZero() && !now.Before(one.ExpiresAt)
}

// watch adds a client to a channel, and shows it the announcements that have not expired.
func (a *channels) watch(c *channel) (*wsline.Watcher, error) {
	b := &a.board
	b.mu.Lock()
	defer b.mu.Unlock()
	c.hub.Greet(c.lines.Stamp(protocol.Line{
		Type: protocol.LineHello, SessionID: c.session, Version: a.version, Tools: a.host.Tools(c.session),
	}))
	w, err := c.hub.Watch(false)
	if err != nil {
		return nil, err
	}
	now := b.now()
	for _, list := range b.byBroker {
		for i := range list {
			if !expired(&list[i], now) {
				w.Send(c.lines.Stamp(announcementLine(&list[i])))
			}
		}
	}
	return w, nil
}

// toAll sends a line without a session to the clients of all sessions.
func (a *channels) toAll(line protocol.Line) {
	a.mu.Lock()
	open := make([]*channel, 0, len(a.byID))
	for _, c := range a.byID {
		open = append(open, c)
	}
	a.mu.Unlock()
	for _, c := range open {
		c.hub.Notice(c.lines.Stamp(line))
	}
}

// announcementMetadata is the metadata of the lines about an announcement.
type announcementMetadata struct {
	ID        string     `json:"announcement_id"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	Cancelled bool       `json:"cancelled,omitempty"`
}

func announcementLine(one *protocol.Announcement) protocol.Line {
	about := announcementMetadata{ID: one.ID}
	if !one.ExpiresAt.IsZero() {
		about.ExpiresAt = &one.ExpiresAt
	}
	return noticeLine(string(one.Level), one.Text, about)
}

func cancelledLine(one *protocol.Announcement) protocol.Line {
	return noticeLine(string(protocol.AnnouncementInfo), "Taken back: "+one.Text, announcementMetadata{
		ID: one.ID, Cancelled: true,
	})
}

func noticeLine(level, text string, about announcementMetadata) protocol.Line {
	raw, _ := json.Marshal(about) // has only strings and a time
	return protocol.Line{Type: protocol.LineStatus, Level: level, Message: text, Metadata: raw}
}
