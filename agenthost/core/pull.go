package core

import "bellhop/protocol"

// Pull is a broker's request for the events after a position.
type Pull struct {
	Epoch   *int64 // nil is the current one
	After   int64  // a seq of Epoch
	Last    string // the id of the broker's event there; "" if it does not name it
	Prompts bool   // the broker stores what it gets: it asks for the prompts too
}

// Begin returns the position after which the answer begins.
func (s *State) Begin(p Pull) protocol.Cursor {
	current := s.Record.Cursor.Epoch
	switch {
	case p.Epoch == nil || *p.Epoch == current:
		return protocol.Cursor{Epoch: current, Seq: max(p.After, 0)}
	case *p.Epoch > current:
		return protocol.Cursor{Epoch: current}
	default:
		return protocol.Cursor{Epoch: *p.Epoch, Seq: max(p.After, 0)}
	}
}

// MayWithhold reports whether Withholds has to be asked, which needs the journal.
func (s *State) MayWithhold(p Pull) bool {
	return p.Prompts && s.Pending > 0 && s.Record.Acked.Less(s.Begin(p))
}

// Withholds reports whether a broker must not get the events that it pulls, because the
// host has other events up to there that the broker lacks: its journal was restored from
// an older copy. They have to be posted first. If the broker had later events before
// them, their order would be lost. pending is the first unacknowledged event, at the
// first event of the journal at or after the position that the pull names.
//
// A broker that has no event there, or only asks for the epoch, names none. It gets no later epoch then.
func (s *State) Withholds(p Pull, pending, at *EventRecord) bool {
	begin := s.Begin(p)
	switch {
	case !s.MayWithhold(p) || pending == nil || begin.Less(pending.Cursor):
		return false
	case p.Last == "":
		return pending.Cursor.Epoch < s.Record.Cursor.Epoch
	default:
		return at == nil || at.Cursor != begin || at.EventID != p.Last
	}
}
