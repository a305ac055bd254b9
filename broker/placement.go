package broker

import "bellhop/protocol"

// placement decides for every event of a request whether it is new, known or
// refused. It changes nothing but itself.
type placement struct {
	cursor     protocol.Cursor // moves over the events that are placed
	known      map[string]StoredEvent
	seen       map[string]string // digests of this request, by id
	positioned bool              // some event has epoch and seq

	fresh []arrival
	late  []arrival // of an epoch that is over and not stored yet
	bad   int       // index of the first refused event
}

// continues reports that the events go on exactly at the cursor, which makes
// them new unless somebody reused an id.
func (p *placement) continues(arrivals []arrival) bool {
	cursor := p.cursor
	for _, a := range arrivals {
		next := protocol.Cursor{Epoch: a.event.Epoch, Seq: a.event.Seq}
		if !follows(cursor, next) {
			return false
		}
		cursor = next
	}
	return true
}

// follows reports that next is the event after cursor: the next seq, or the
// first of a later epoch.
func follows(cursor, next protocol.Cursor) bool {
	if next.Epoch == 0 {
		return false
	}
	if next.Epoch == cursor.Epoch {
		return next.Seq == cursor.Seq+1
	}
	return next.Epoch > cursor.Epoch && next.Seq == 1
}

// place goes over the events in order. The first refusal is the answer; after a
// fenced event it goes on looking for more late ones, which are all kept.
func (p *placement) place(arrivals []arrival) error {
	start := p.cursor
	var refusal error
	for i, a := range arrivals {
		p.positioned = p.positioned || a.event.Epoch > 0
		err := p.one(a, start)
		if err == nil {
			continue
		}
		if refusal == nil {
			p.bad, refusal = i, atIndex(err, i, len(arrivals))
		}
		if protocol.CodeOf(refusal) != protocol.CodeFenced {
			break
		}
	}
	return refusal
}

func (p *placement) one(a arrival, start protocol.Cursor) error {
	if digest, twice := p.seen[a.id]; twice {
		return sameContent(digest, a)
	}
	if stored, known := p.known[a.id]; known {
		p.seen[a.id] = stored.Digest
		if err := sameContent(stored.Digest, a); err != nil {
			return err
		}
		if stored.Late {
			return errFenced(start)
		}
		return nil
	}
	next := protocol.Cursor{Epoch: a.event.Epoch, Seq: a.event.Seq}
	switch {
	case next.Epoch == 0:
	case follows(p.cursor, next):
		p.cursor = next
	case next.Epoch < p.cursor.Epoch:
		p.seen[a.id] = a.digest
		p.late = append(p.late, a)
		return errFenced(start)
	case next.Epoch > p.cursor.Epoch:
		return errGap(protocol.Cursor{Epoch: next.Epoch})
	case next.Seq <= p.cursor.Seq:
		return &protocol.Error{
			Code: protocol.CodeDiverged, Message: "Another event stands at this epoch and seq", Cursor: &start,
		}
	case next.Epoch > start.Epoch:
		return errGap(protocol.Cursor{Epoch: next.Epoch})
	default:
		return errGap(start)
	}
	p.seen[a.id] = a.digest
	p.fresh = append(p.fresh, a)
	return nil
}

func sameContent(digest string, a arrival) error {
	if digest == a.digest {
		return nil
	}
	return &protocol.Error{Code: protocol.CodeConflict, Message: "An event with this id and other content is known"}
}

func errFenced(cursor protocol.Cursor) error {
	return &protocol.Error{Code: protocol.CodeFenced, Message: "The event's epoch is over", Cursor: &cursor}
}

func errGap(cursor protocol.Cursor) error {
	return &protocol.Error{Code: protocol.CodeGap, Message: "Events are missing before this one", Cursor: &cursor}
}
