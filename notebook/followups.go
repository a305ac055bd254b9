package notebook

import (
	"context"
	"slices"
	"time"

	"bellhop/protocol"
)

// FollowupsResponse has the unanswered messages, oldest first.
type FollowupsResponse struct {
	Messages []protocol.Followup `json:"messages"`
}

// Followups returns the user's messages that the agent has not answered and marks them
// delivered.
func (s *Service) Followups(ctx context.Context, c Caller, sessionID string) (*FollowupsResponse, error) {
	session, err := s.session(ctx, c, sessionID)
	if err != nil {
		return nil, err
	}
	now := s.nowUTC()
	if err := s.usable(session, now); err != nil {
		return nil, err
	}
	open, err := s.o.Store.OpenFollowups(ctx, session.ID, maxFollowups)
	if err != nil {
		return nil, err
	}
	if fresh := undelivered(open); len(fresh) > 0 || now.Sub(session.LastActivity) >= touchAfter {
		if open, err = s.collect(ctx, c, session.ID); err != nil {
			return nil, err
		}
	}
	return s.showFollowups(ctx, open)
}

// collect reads the messages again under the session's lock, so that exactly those returned are
// marked.
func (s *Service) collect(ctx context.Context, c Caller, sessionID string) (open []Followup, err error) {
	err = s.agentChange(ctx, c, sessionID, func(ctx context.Context, session *Session, now time.Time) error {
		if open, err = s.o.Store.OpenFollowups(ctx, session.ID, maxFollowups); err != nil {
			return err
		}
		fresh := undelivered(open)
		if len(fresh) == 0 {
			return nil
		}
		session.changed(protocol.AgentEventMessage, open[0].SourceID, now)
		return s.o.Store.MarkDelivered(ctx, fresh, now)
	})
	return open, err
}

func undelivered(open []Followup) []string {
	var ids []string
	for i := range open {
		if open[i].DeliveredAt == nil {
			ids = append(ids, open[i].ID)
		}
	}
	return ids
}

func (s *Service) showFollowups(ctx context.Context, open []Followup) (*FollowupsResponse, error) {
	var sources []Source // of open, in their order
	for i := range open {
		if !slices.ContainsFunc(sources, func(source Source) bool { return source.ID == open[i].SourceID }) {
			sources = append(sources, Source{ID: open[i].SourceID, Version: open[i].SourceVersion})
		}
	}
	list := followupList{messages: make([]protocol.Followup, 0, len(open)), history: historyBudget}
	err := s.o.Store.Read(ctx, func(ctx context.Context) error {
		versions, err := s.o.Store.Newest(ctx, sources, followupBudget)
		if err != nil {
			return err
		}
		list.before, err = s.o.Store.Exchanges(ctx, idsOf(sources), maxExchanges)
		list.code = byID(versions, func(v *Version) string { return v.SourceID })
		return err
	})
	if err != nil {
		return nil, err
	}
	list.first = map[string]string{}
	for i := range open {
		list.add(&open[i])
	}
	return &FollowupsResponse{Messages: list.messages}, nil
}

func idsOf(sources []Source) []string {
	ids := make([]string, len(sources))
	for i := range sources {
		ids[i] = sources[i].ID
	}
	return ids
}

func byID[T any](list []T, id func(*T) string) map[string]*T {
	found := make(map[string]*T, len(list))
	for i := range list {
		found[id(&list[i])] = &list[i]
	}
	return found
}

// followupList builds the answer to a poll: of each source the code once, and each message of
// a history once.
type followupList struct {
	messages []protocol.Followup
	code     map[string]*Version  // by source
	first    map[string]string    // by source: id of its first question here
	before   map[string][]Message // by source: messages that are not shown yet, oldest first
	history  int                  // bytes that histories may still use
}

func (l *followupList) add(f *Followup) {
	shown := protocol.Followup{
		ID: f.ID, SourceID: f.SourceID, SourceTitle: f.SourceTitle, SourceVersion: f.SourceVersion,
		SourceLanguage: f.SourceLanguage, Content: f.Content, Timestamp: f.CreatedAt, Attachments: f.Attachments,
		ConversationHistory: l.historyOf(f),
	}
	if first, found := l.first[f.SourceID]; found {
		shown.SourceCodeIn = first
	} else {
		l.first[f.SourceID] = f.ID
		code := l.code[f.SourceID]
		shown.SourceCode, shown.SourceCodeOmitted, shown.OriginalContext = code.Code, code.Omitted, f.SourceContext
	}
	l.messages = append(l.messages, shown)
}

// historyOf takes the messages since the last answer before f. The newest use the budget
// first.
func (l *followupList) historyOf(f *Followup) []protocol.FollowupMessage {
	all := l.before[f.SourceID]
	end := 0
	for end < len(all) && all[end].Seq < f.Seq {
		end++
	}
	l.before[f.SourceID] = all[end:]
	begin := end
	for begin > 0 && (begin == end || all[begin].Role != protocol.FollowupAgent) {
		m := &all[begin-1]
		m.Content, m.Diff = shorten(m.Content), ""
		if l.history < historyCost(m) {
			break
		}
		l.history -= historyCost(m)
		begin--
	}
	return showMessages(all[begin:end])
}

// shorten cuts a text after HistoryText characters.
func shorten(text string) string {
	characters := 0
	for at := range text {
		if characters++; characters > HistoryText {
			return text[:at] + " […]"
		}
	}
	return text
}

// historyCost is about the size of a message as JSON.
func historyCost(m *Message) int {
	const members = 300
	return members + len(m.Content) + len(m.Description)
}
