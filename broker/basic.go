package broker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"bellhop/protocol"
)

// A basic host reports texts and tools, but not the end of a turn. The broker learns
// of the end from a posted finish, from the end of a stream that it relays, from the
// frontend that read the stream, or from the next check-in (ADR 4).

// Finish ends a turn of a basic host, as the frontend that read its stream reports
// it. Repeating the report is no error. CodeConflict: the host reports the ends of
// its turns itself. CodeNotFound: the task has no such turn.
func (s *Sessions) Finish(ctx context.Context, userID string, req *protocol.FinishTurnRequest) error {
	if err := checkFinish(req); err != nil {
		return err
	}
	if _, err := s.agentTask(ctx, userID, req.TaskID); err != nil {
		return err
	}
	end := protocol.LastTurn{
		FinishReason: cmp.Or(req.FinishReason, protocol.FinishStop), Reason: protocol.SanitizeText(req.Reason),
	}
	_, err := s.Updater.updateTask(ctx, userID, req.TaskID, func(ctx context.Context, tx *taskTx) error {
		if tx.task.HostEvents {
			return &protocol.Error{
				Code: protocol.CodeConflict, Message: "The agent host reports the end of its turns itself",
				Hint: "Only the turns of basic hosts are reported: those whose check-in names no capabilities",
			}
		}
		return tx.finishBasic(ctx, req.TurnID, end)
	})
	return err
}

func checkFinish(req *protocol.FinishTurnRequest) error {
	switch {
	case req.TurnID == "":
		return protocol.Errorf(protocol.CodeInvalid, "turnId is required")
	case req.FinishReason != "" && !slices.Contains(protocol.FinishReasons, req.FinishReason):
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "finishReason is unknown",
			Hint: "Send stop, length, content-filter, tool-calls, error or other",
		}
	case len(req.Reason) > maxReason:
		return protocol.Errorf(protocol.CodeInvalid, "reason is longer than %d bytes", maxReason)
	}
	return nil
}

// finishBasic ends one turn, unless it has ended already.
func (tx *taskTx) finishBasic(ctx context.Context, turnID string, end protocol.LastTurn) error {
	t, err := tx.turn(ctx, turnID)
	switch {
	case err != nil:
		return err
	case t == nil:
		return protocol.Errorf(protocol.CodeNotFound, "The task has no such turn")
	case t.State == TurnClosed:
		return nil
	}
	end.Reason = cmp.Or(end.Reason, t.Reason)
	return tx.closeTurn(ctx, t, end)
}

// abortBasic ends all unfinished turns of a task whose host has no route to
// interrupt. Such a host stops when the reader of its stream disconnects.
func (s *Sessions) abortBasic(ctx context.Context, userID, taskID string) error {
	_, err := s.Updater.updateTask(ctx, userID, taskID, func(ctx context.Context, tx *taskTx) error {
		turns, err := tx.unfinishedTurns(ctx)
		if err != nil {
			return err
		}
		for _, t := range turns {
			end := protocol.LastTurn{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}
			if err := tx.closeTurn(ctx, t, end); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// RelayedTurn follows the relayed stream of a basic host, whose end is the end of its
// turn.
type RelayedTurn struct {
	sessions *Sessions
	task     *Task
	turnID   string
	stream   streamEnd
	signedAt time.Time // when its bytes were last a sign of life
}

// relayedTurn returns the turn that a POST to a basic host has started, nil if there
// is none.
func (s *Sessions) relayedTurn(ctx context.Context, task *Task) (*RelayedTurn, error) {
	turns, err := s.Updater.Store.TurnsIn(ctx, task.ID, TurnAnnounced, TurnOpen)
	if err != nil || len(turns) == 0 {
		return nil, err
	}
	return &RelayedTurn{sessions: s, task: task, turnID: turns[len(turns)-1].ID}, nil
}

// Ended ends the turn after its stream has ended. It must not be called for a stream that
// broke: the agent may still be working.
func (t *RelayedTurn) Ended(ctx context.Context) error {
	_, err := t.sessions.Updater.updateTask(ctx, t.task.UserID, t.task.ID, func(ctx context.Context, tx *taskTx) error {
		return tx.finishBasic(ctx, t.turnID, t.stream.result())
	})
	return err
}

// IsClosed reports whether the turn has ended in another way than by its stream, such as
// by an interrupt.
func (t *RelayedTurn) IsClosed(ctx context.Context) bool {
	turns, err := t.sessions.Updater.Store.Turns(ctx, t.task.ID, []string{t.turnID})
	return err == nil && (len(turns) == 0 || turns[0].State == TurnClosed)
}

// EndWith calls disconnect once the turn was stopped or replaced. It returns then, or when ctx
// ends.
func (t *RelayedTurn) EndWith(ctx context.Context, disconnect func()) {
	check := time.NewTicker(stopCheckEvery)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-check.C:
			if t.IsClosed(ctx) {
				disconnect()
				return
			}
		}
	}
}

// maxEndLine limits the lines of a stream that are kept to find its end. Longer lines
// are texts and results.
const maxEndLine = 64 << 10

// streamEnd finds the last finish, abort or error part of a stream.
type streamEnd struct {
	line []byte
	skip bool // the line is too long
	end  *protocol.LastTurn
}

func (e *streamEnd) read(p []byte) {
	for len(p) > 0 {
		line, rest, complete := bytes.Cut(p, []byte("\n"))
		if e.skip = e.skip || len(e.line)+len(line) > maxEndLine; !e.skip {
			e.line = append(e.line, line...)
		}
		if complete {
			e.parse()
			e.line, e.skip = e.line[:0], false
		}
		p = rest
	}
}

func (e *streamEnd) parse() {
	data, found := bytes.CutPrefix(e.line, []byte("data:"))
	if e.skip || !found {
		return
	}
	var part struct {
		Type         string                `json:"type"`
		FinishReason protocol.FinishReason `json:"finishReason"`
		Error        json.RawMessage       `json:"error"`
	}
	if json.Unmarshal(data, &part) != nil {
		return
	}
	switch part.Type {
	case "finish":
		if !slices.Contains(protocol.FinishReasons, part.FinishReason) {
			part.FinishReason = protocol.FinishStop
		}
		e.end = &protocol.LastTurn{FinishReason: part.FinishReason}
	case "abort":
		e.end = &protocol.LastTurn{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}
	case "error":
		e.end = &protocol.LastTurn{FinishReason: protocol.FinishError, Reason: errorReason(part.Error)}
	}
}

// result returns how the turn ended; "stop" if the stream had no finish, abort or error.
func (e *streamEnd) result() protocol.LastTurn {
	if e.end == nil {
		return protocol.LastTurn{FinishReason: protocol.FinishStop}
	}
	return *e.end
}

// errorReason returns the text of an error part: a string, or an object with a
// message.
func errorReason(raw json.RawMessage) string {
	var text string
	var object struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &text) != nil && json.Unmarshal(raw, &object) == nil {
		text = object.Message
	}
	return shortReason(protocol.SanitizeText(text))
}

// shortReason limits a reason that came from a host.
func shortReason(text string) string {
	if len(text) <= maxReason {
		return text
	}
	return strings.ToValidUTF8(text[:maxReason], "") + "…"
}
