package broker

import (
	"context"
	"io"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// Transcripts write what happened in tasks as documents.
type Transcripts struct {
	Store   TranscriptsStore
	Targets *Targets
	Secrets []seal.Secret // of the installation, for exports with masks
}

// TranscriptStore reads a task with what happened in it.
type TranscriptStore interface {
	// Read runs fn on one consistent view of the data.
	Read(ctx context.Context, fn func(ctx context.Context) error) error
	// Task returns CodeNotFound for another user's or a deleted task.
	Task(ctx context.Context, userID, id string) (*Task, error)
	Messages(ctx context.Context, taskID string, q MessageQuery) ([]Message, error)
	Turns(ctx context.Context, taskID string, ids []string) ([]Turn, error)
	// TurnInteractions returns the questions of turns, oldest first.
	TurnInteractions(ctx context.Context, taskID string, turnIDs []string) ([]Interaction, error)
}

// TranscriptsStore is what Transcripts needs.
type TranscriptsStore interface {
	TranscriptStore
	WebhookSecret(ctx context.Context, taskID string) (seal.Secret, error)
}

// exportedPage is how many messages of a task an export holds in memory.
const exportedPage = 200

// Export writes a task as Markdown: its messages, tool calls, questions and how its turns ended. masked replaces
// secrets and the host's address. begin is called once before the first byte; an error after it means that
// the document is incomplete. Messages that come while it is written are left out.
func (s *Transcripts) Export(
	ctx context.Context, userID, taskID string, masked bool, begin func(), out io.Writer,
) error {
	task, err := s.Store.Task(ctx, userID, taskID)
	if err != nil {
		return err
	}
	doc := &document{
		title: task.Title, at: task.CreatedAt, out: out,
		facts: [][2]string{{"Agent", task.Agent}, {"Model", task.Model}, {"Project", task.Project}, {"Branch", task.Branch}},
		read: func(ctx context.Context, after int64) (page *transcriptPage, err error) {
			err = s.Store.Read(ctx, func(ctx context.Context) (err error) {
				page, err = readTranscript(ctx, s.Store, taskID, after, task.LastSeq, exportedPage)
				return err
			})
			return page, err
		},
	}
	if masked {
		mask, err := maskOf(ctx, s.Targets, s.Store, task, s.Secrets)
		if err != nil {
			return err
		}
		doc.mask = &mask
	}
	return doc.write(ctx, begin)
}

// transcriptPage is a page of messages, with how their turns ended and the questions of these turns.
type transcriptPage struct {
	Messages     []protocol.Message
	Turns        []protocol.LastTurn
	Interactions []protocol.Interaction
	next         int64 // position of the last message; that of the request if there is none
}

// readTranscript reads the messages behind after, up to last.
func readTranscript(
	ctx context.Context, store TranscriptStore, taskID string, after, last int64, limit int,
) (*transcriptPage, error) {
	q := MessageQuery{After: &after, Limit: limit}
	q.bound()
	found, err := store.Messages(ctx, taskID, q)
	if err != nil {
		return nil, err
	}
	page := &transcriptPage{next: after}
	for i := range found {
		if found[i].Seq > last {
			found = found[:i]
			break
		}
		page.Messages = append(page.Messages, found[i].Message)
		page.next = found[i].Seq
	}
	ids := turnsOf(found)
	if len(ids) == 0 {
		return page, nil
	}
	page.Turns, page.Interactions, err = readTurns(ctx, store, taskID, ids)
	return page, err
}

// turnsOf returns the ids of the turns of messages.
func turnsOf(messages []Message) []string {
	var ids []string
	known := map[string]bool{"": true}
	for i := range messages {
		if id := messages[i].TurnID; !known[id] {
			known[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// readTurns returns how turns ended, if they did, and their questions.
func readTurns(
	ctx context.Context, store TranscriptStore, taskID string, ids []string,
) (ended []protocol.LastTurn, asked []protocol.Interaction, err error) {
	turns, err := store.Turns(ctx, taskID, ids)
	if err != nil {
		return nil, nil, err
	}
	for i := range turns {
		if turns[i].State == TurnClosed {
			ended = append(ended, turns[i].ending())
		}
	}
	questions, err := store.TurnInteractions(ctx, taskID, ids)
	for i := range questions {
		asked = append(asked, *questions[i].View())
	}
	return ended, asked, err
}

// cut ends the page behind the message with which its texts and artifacts exceed a size.
func (p *transcriptPage) cut(size int) {
	sum := 0
	for i := range p.Messages {
		m := &p.Messages[i]
		sum += len(m.Message)
		for _, a := range m.Artifacts {
			sum += len(a.Content)
		}
		if sum > size {
			p.Messages, p.next = p.Messages[:i+1], m.Seq
			return
		}
	}
}
