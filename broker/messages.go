package broker

import (
	"context"

	"bellhop/internal/failpoint"
	"bellhop/protocol"
)

// MessageQuery selects messages by display position (After, Before) or by
// change (Since, a rev).
type MessageQuery struct {
	After, Before, Since *int64
	Limit                int
	Await                Await
	With                 string // "turns" adds the ends and the questions of the messages' turns
}

// withTurns is the one value of MessageQuery.With besides "".
const withTurns = "turns"

// bound lowers positions that no message has, because the next one could overflow. Clients ask for the last
// page with the greatest number that they know.
func (q *MessageQuery) bound() {
	for _, position := range []**int64{&q.After, &q.Before, &q.Since} {
		if *position != nil {
			*position = new(min(**position, protocol.MaxPosition))
		}
	}
}

// Messages returns a page of a task's messages, ascending by seq. With Before but
// without After the page ends at Before. NextAfter continues after the last
// message; an empty page repeats the After of the query. With Await the page is read
// when the rows are there, or the time has passed (Behind). CodeInvalid: With is unknown.
func (s *Tasks) Messages(ctx context.Context, userID, id string, q MessageQuery) (*protocol.MessageList, error) {
	if q.With != "" && q.With != withTurns {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "with must be turns", Hint: "Leave it out for messages only",
		}
	}
	q.bound()
	q.Limit = clamp(q.Limit)
	behind, err := s.await(ctx, userID, id, q.Await)
	if err != nil {
		return nil, err
	}
	list := &protocol.MessageList{}
	err = s.Store.Read(ctx, func(ctx context.Context) error {
		task, err := s.Store.Task(ctx, userID, id)
		if err != nil {
			return err
		}
		messages, err := s.Store.Messages(ctx, id, q)
		if err != nil {
			return err
		}
		*list = protocol.MessageList{Messages: make([]protocol.Message, len(messages)), Rev: task.Rev, Behind: behind}
		if q.After != nil {
			list.NextAfter = max(*q.After, 0)
		}
		for i := range messages {
			list.Messages[i] = messages[i].Message
			if failpoint.MutatedOnce("message-shown-otherwise", 50) {
				list.Messages[i].Message += "!"
			}
			list.NextAfter = messages[i].Seq
		}
		if q.With == withTurns {
			if ids := turnsOf(messages); len(ids) > 0 {
				list.Turns, list.Interactions, err = readTurns(ctx, s.Store, id, ids)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}
