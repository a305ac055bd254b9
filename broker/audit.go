package broker

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"bellhop/protocol"
)

// AuditStore adds entries to the audit log. There is no method that changes one.
type AuditStore interface {
	// Write runs fn in a transaction, and again after a deadlock.
	Write(ctx context.Context, fn func(ctx context.Context) error) error
	// AddAudit joins the transaction of its context. It sets no No and reads no Email.
	AddAudit(ctx context.Context, entries ...protocol.AuditEntry) error
}

type actorKey struct{}

// WithActor makes a the actor of the acts in ctx. Code that authenticates a caller calls it.
func WithActor(ctx context.Context, a protocol.AuditActor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns the actor of the acts in ctx: the broker itself without WithActor.
func ActorOf(ctx context.Context) protocol.AuditActor {
	if a, known := ctx.Value(actorKey{}).(protocol.AuditActor); known {
		return a
	}
	return protocol.AuditActor{Kind: protocol.AuditByBroker}
}

// Act is an act for the audit log. Detail must hold no secret and no text of a conversation.
type Act struct {
	Action  protocol.AuditAction
	Subject protocol.AuditSubject
	Detail  map[string]string
}

// Audited runs do and adds the entry of the act that do returns, in one transaction. If either
// fails, neither is stored. A nil act adds none.
func Audited(
	ctx context.Context, store AuditStore, now func() time.Time, do func(ctx context.Context) (*Act, error),
) error {
	return store.Write(ctx, func(ctx context.Context) error {
		act, err := do(ctx)
		if err != nil || act == nil {
			return err
		}
		return store.AddAudit(ctx, act.entry(ActorOf(ctx), nowUTC(now)))
	})
}

func (a *Act) entry(actor protocol.AuditActor, at time.Time) protocol.AuditEntry {
	return protocol.AuditEntry{At: at, Action: a.Action, Actor: actor, Subject: a.Subject, Detail: a.Detail}
}

// AuditLog reads the audit log. Only administrators may; others get CodeForbidden.
type AuditLog struct {
	Store AuditReader
	Now   func() time.Time
}

// AuditReader reads the audit log.
type AuditReader interface {
	AuditStore
	AuditEntries(ctx context.Context, f AuditFilter) ([]protocol.AuditEntry, error)
}

// AuditFilter selects entries: all that match every member that is set.
type AuditFilter struct {
	From, Until *time.Time // From is included, Until is not
	Actor       string     // id or e-mail address of a user, or a kind of actor
	Action      string     // an act, or a group of acts
	Subject     string     // id, name or e-mail address
	Before      int64      // only entries with a lower No, the newest first
	After       int64      // if Before is 0: only entries with a higher No, the oldest first
	Limit       int
}

// AuditQuery is the text of a filter, as a request has it.
type AuditQuery struct {
	From, Until, Actor, Action, Subject, Cursor string
	Limit                                       int
}

const maxAuditTerm = 254 // the longest e-mail address

// List returns a page of the audit log, the newest entry first.
func (s *AuditLog) List(ctx context.Context, caller Caller, q AuditQuery) (*protocol.AuditList, error) {
	filter, err := s.filter(caller, q)
	if err != nil {
		return nil, err
	}
	limit := clamp(q.Limit)
	filter.Limit, filter.Before = limit+1, int64(maxAuditNo)
	if q.Cursor != "" {
		if filter.Before, err = strconv.ParseInt(q.Cursor, 10, 64); err != nil || filter.Before < 1 {
			return nil, protocol.Errorf(protocol.CodeInvalid, "cursor is not one of ours")
		}
	}
	found, err := s.Store.AuditEntries(ctx, filter)
	if err != nil {
		return nil, err
	}
	list := &protocol.AuditList{Entries: []protocol.AuditEntry{}}
	list.Entries = append(list.Entries, found[:min(limit, len(found))]...)
	if len(found) > limit {
		list.NextCursor = strconv.FormatInt(found[limit-1].No, 10)
	}
	return list, nil
}

const (
	maxAuditNo = protocol.MaxPosition
	exportPage = 500
)

// Export calls yield with every entry that q selects, the oldest first. The export is an act
// itself: it adds an entry, and entries that are added later are not exported.
func (s *AuditLog) Export(
	ctx context.Context, caller Caller, q AuditQuery, yield func(*protocol.AuditEntry) error,
) error {
	filter, err := s.filter(caller, q)
	if err != nil {
		return err
	}
	newest, err := s.recordExport(ctx, q)
	if err != nil {
		return err
	}
	for filter.Limit = exportPage; ; {
		page, err := s.Store.AuditEntries(ctx, filter)
		if err != nil {
			return err
		}
		for i := range page {
			if page[i].No > newest {
				return nil
			}
			if err := yield(&page[i]); err != nil {
				return err
			}
			filter.After = page[i].No
		}
		if len(page) < exportPage {
			return nil
		}
	}
}

// recordExport adds the entry of an export and returns the number of the newest entry.
func (s *AuditLog) recordExport(ctx context.Context, q AuditQuery) (newest int64, err error) {
	err = Audited(ctx, s.Store, s.Now, func(context.Context) (*Act, error) {
		return &Act{
			Action: protocol.AuditExported, Subject: protocol.AuditSubject{Kind: protocol.AuditOfLog}, Detail: q.detail(),
		}, nil
	})
	if err != nil {
		return 0, err
	}
	last, err := s.Store.AuditEntries(ctx, AuditFilter{Before: maxAuditNo, Limit: 1})
	if err != nil || len(last) == 0 {
		return 0, err
	}
	return last[0].No, nil
}

func (q AuditQuery) detail() map[string]string {
	detail := map[string]string{}
	for name, value := range map[string]string{
		"from": q.From, "until": q.Until, "actor": q.Actor, "action": q.Action, "subject": q.Subject,
	} {
		if value != "" {
			detail[name] = value
		}
	}
	return detail
}

func (s *AuditLog) filter(caller Caller, q AuditQuery) (f AuditFilter, err error) {
	if !caller.Admin {
		return f, protocol.Errorf(protocol.CodeForbidden, "Only administrators read the audit log")
	}
	f = AuditFilter{Actor: strings.TrimSpace(q.Actor), Action: q.Action, Subject: strings.TrimSpace(q.Subject)}
	if f.From, err = auditTime("from", q.From); err != nil {
		return f, err
	}
	if f.Until, err = auditTime("until", q.Until); err != nil {
		return f, err
	}
	for name, term := range map[string]string{"actor": f.Actor, "subject": f.Subject} {
		if len(term) > maxAuditTerm || !utf8.ValidString(term) || strings.ContainsRune(term, 0) {
			return f, protocol.Errorf(protocol.CodeInvalid, "%s must be text of at most %d bytes", name, maxAuditTerm)
		}
	}
	return f, checkAction(q.Action)
}

// checkAction refuses a text that names neither an act nor a group of acts.
func checkAction(action string) error {
	all := protocol.AuditActions()
	if action == "" || slices.ContainsFunc(all, func(a protocol.AuditAction) bool {
		return string(a) == action || strings.HasPrefix(string(a), action+".")
	}) {
		return nil
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = string(all[i])
	}
	return &protocol.Error{
		Code: protocol.CodeInvalid, Message: "action names no act of the audit log",
		Hint: "Use one of " + strings.Join(names, ", ") + ", or the part before a point",
	}
}

// auditTime parses a time or a day in UTC.
func auditTime(name, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // nil means that the filter has no such limit
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			t = t.UTC()
			return &t, nil
		}
	}
	return nil, &protocol.Error{
		Code: protocol.CodeInvalid, Message: name + " is not a time",
		Hint: "Write it like 2026-03-04T05:06:07Z, or 2026-03-04 for a day in UTC",
	}
}
