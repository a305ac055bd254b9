package stream

import (
	"context"
	"math"

	"bellhop/internal/failpoint"
	"bellhop/internal/sse"
	"bellhop/protocol"
)

// maxReplay bounds the bytes of a replay of several turns. A cursor further back gets
// only the newest turn; readers have the earlier ones from the broker.
const maxReplay = 8 << 20

// endless is an offset above all others.
const endless = math.MaxInt64 - 1

// Turn is the place of a started turn in the stream.
type Turn struct {
	ID    string
	First int64 // offset of its first frame
	Last  protocol.StreamID
	Open  bool // Last is not known yet
}

// Event is a journaled event that a part announced.
type Event struct {
	ID   protocol.StreamID // of the part's frame
	Type protocol.EventType
	Part []byte // JSON, as it was published
	Body []byte // JSON, as the broker gets it
}

// Journal reads what the window no longer holds.
type Journal interface {
	// TurnsFrom returns the started turns, ascending, beginning with the one that held
	// offset, or with the newest for -1. It is empty if no turn began at or before offset.
	TurnsFrom(ctx context.Context, offset int64) ([]Turn, error)
	// Events returns the turn's events that have a part, ascending by offset.
	Events(ctx context.Context, turnID string) ([]Event, error)
}

// State is what the session knows when a reader comes.
type State struct {
	Epoch     int64
	Next      int64    // offset of the next frame
	Open      *Turn    // nil: idle
	Questions []string // ids of the open interactions
}

// Reader is a reader's share of a stream: first Backlog, then Live. If Live is nil, the
// stream ends after the backlog.
type Reader struct {
	TurnID  string // the turn that the backlog begins with, "" if that is unknown
	Backlog [][]byte
	Live    *sse.Subscription
}

// Close ends the subscription; the turn continues. A nil Reader is allowed.
func (r *Reader) Close() {
	if r != nil && r.Live != nil {
		r.Live.Close()
	}
}

// Attach adds a reader that has everything up to cursor, "" for nothing. The reader
// stays until the open turn ends, with follow until the stream is closed. It returns nil
// if the session is idle and has nothing newer.
func (s *Stream) Attach(ctx context.Context, journal Journal, now State, cursor string, follow bool) (*Reader, error) {
	r := resume{s, journal, &now}
	backlog, err := r.backlog(ctx, cursor)
	if err != nil {
		return nil, err
	}
	if now.Open == nil && !follow && len(backlog) == 0 {
		return nil, nil //nolint:nilnil // documented
	}
	if len(backlog) == 0 && cursor != "" {
		backlog = [][]byte{r.result(protocol.ResumeOK, "")}
	}
	out := &Reader{Backlog: backlog, Live: s.subscribe(follow)}
	if now.Open != nil {
		out.TurnID = now.Open.ID
	}
	return out, nil
}

// Replay returns a reader of one turn from its start: its frames so far and, while it is
// open, the live ones.
func (s *Stream) Replay(ctx context.Context, journal Journal, now State, turn Turn) (*Reader, error) {
	r := resume{s, journal, &now}
	to := turn.Last.Offset
	if turn.Open {
		to = endless
	}
	frames, from, err := r.replay(ctx, []Turn{turn}, to)
	if err != nil {
		return nil, err
	}
	out := &Reader{TurnID: turn.ID, Backlog: r.announceRebuilt(frames, from)}
	if turn.Open {
		out.Live = s.subscribe(false)
	}
	return out, nil
}

// resume assembles the backlog of one reader.
type resume struct {
	stream  *Stream
	journal Journal
	now     *State
}

func (r *resume) backlog(ctx context.Context, cursor string) ([][]byte, error) {
	if cursor == "" {
		if r.now.Open == nil {
			return nil, nil
		}
		frames, from, err := r.replay(ctx, []Turn{*r.now.Open}, endless)
		return r.announceRebuilt(frames, from), err
	}
	id, err := protocol.ParseStreamID(cursor)
	if err != nil { // it names no frame
		return r.afterGap(ctx, unknownID)
	}
	return r.after(ctx, id)
}

// after returns a data-resume frame with the verdict ok and the frames after id, if the window
// holds them, and otherwise the frames of afterGap. It returns nothing if there is nothing newer
// and the turn has ended.
func (r *resume) after(ctx context.Context, id protocol.StreamID) ([][]byte, error) {
	frames, ok := r.stream.window.after(id)
	if !ok {
		return r.afterGap(ctx, id)
	}
	if len(frames) == 0 && r.now.Open == nil {
		return nil, nil
	}
	from := ""
	if len(frames) > 0 {
		from = frames[0].ID.String()
	}
	return append([][]byte{r.result(protocol.ResumeOK, from)}, dataOf(frames)...), nil
}

// afterGap replays the turn of a cursor that cannot be resumed, and the turns after it.
// For a cursor that names no turn, it replays the open turn or else the last.
func (r *resume) afterGap(ctx context.Context, id protocol.StreamID) ([][]byte, error) {
	frames, from, err := r.replayFrom(ctx, id)
	if err != nil {
		return nil, err
	}
	return append([][]byte{r.result(protocol.ResumeGap, from)}, frames...), nil
}

func (r *resume) replayFrom(ctx context.Context, id protocol.StreamID) ([][]byte, string, error) {
	if id.Epoch >= 0 && id.Epoch <= r.now.Epoch && id.Offset < r.now.Next {
		turns, err := r.journal.TurnsFrom(ctx, id.Offset)
		if err != nil {
			return nil, "", err
		}
		if len(turns) > 0 && (turns[0].Open || id.Offset <= turns[0].Last.Offset) {
			frames, from, err := r.replay(ctx, turns, endless)
			if err != nil || len(turns) == 1 || total(frames) <= maxReplay {
				return frames, from, err
			}
		}
	}
	turns, err := r.journal.TurnsFrom(ctx, -1)
	if err != nil {
		return nil, "", err
	}
	return r.replay(ctx, turns, endless)
}

func total(frames [][]byte) (n int) {
	for _, f := range frames {
		n += len(f)
	}
	return n
}

// replay returns the turns from the first one's start to the offset to: from the journal
// what the window no longer has, then the window's own frames. The window begins after a
// boundary, so no frame is missing or repeated between them. from is the first id of the result.
func (r *resume) replay(ctx context.Context, turns []Turn, to int64) (frames [][]byte, from string, err error) {
	if len(turns) == 0 {
		return nil, "", nil
	}
	kept := r.stream.window.start(r.now.Next)
	for _, turn := range turns {
		if turn.First >= kept {
			break
		}
		events, err := r.journal.Events(ctx, turn.ID)
		if err != nil {
			return nil, "", err
		}
		for i := range events {
			if failpoint.Mutated("replay-without-results") && events[i].Type == protocol.EventToolResult {
				continue
			}
			if e := &events[i]; e.ID.Offset < kept && e.ID.Offset <= to {
				rebuilt := rebuild(e)
				if from == "" && len(rebuilt) > 0 {
					from = e.ID.String()
				}
				frames = append(frames, rebuilt...)
			}
		}
	}
	live := r.stream.window.between(turns[0].First, to)
	if from == "" && len(live) > 0 {
		from = live[0].ID.String()
	}
	return append(frames, dataOf(live)...), from, nil
}

// announceRebuilt puts a resume frame before a replay that begins with frames without an
// id: a reader that is cut there has no cursor, and must not take this host for one that
// cannot resume.
func (r *resume) announceRebuilt(frames [][]byte, from string) [][]byte {
	if len(frames) == 0 || hasID(frames[0]) {
		return frames
	}
	return append([][]byte{r.result(protocol.ResumeGap, from)}, frames...)
}

// result returns the data-resume frame. It has no id because it is not part of the
// sequence.
func (r *resume) result(kind, from string) []byte {
	to := ""
	if last := r.stream.Last(); last != unknownID && last.Offset > 0 {
		to = last.String()
	}
	open := append([]string{}, r.now.Questions...) // [] rather than null
	data, err := protocol.Marshal(&protocol.Resume{Verdict: kind, From: from, To: to, OpenInteractions: open})
	if err != nil {
		panic(err) // it holds only strings
	}
	return encodePart(&protocol.Part{Type: protocol.PartDataResume, Data: data})
}
