package broker

import (
	"context"

	"bellhop/protocol"
)

// MessageQuery selects messages by display position (After, Before) or by
// change (Since, a rev).
type MessageQuery struct {
	After, Before, Since *int64
	Limit                int
}

// Messages is a page of a task's messages, ascending by seq.
func (s *Tasks) Messages(ctx context.Context, userID, id string, q MessageQuery) (*protocol.MessageList, error) {
	return nil, nil
}
