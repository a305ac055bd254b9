package broker_test

import (
	"context"
	"testing"

	"bellhop/broker"
	"bellhop/protocol"
)

// commanding is a CommandLink with one answer.
type commanding struct {
	asked []string
	list  *protocol.CommandList
	err   error
}

func (c *commanding) SessionCommands(_ context.Context, t broker.Target, id string) (*protocol.CommandList, error) {
	c.asked = append(c.asked, t.URL+" "+id)
	return c.list, c.err
}

func TestTheCommandsOfATaskAreThoseOfItsSession(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	link := &commanding{list: &protocol.CommandList{
		Commands: []protocol.Command{{Name: "b\x00"}, {Name: "/a"}, {Name: " "}},
	}}
	files := &broker.Files{Sessions: k.sessions, CommandLink: link}
	task := k.task()
	list, err := files.Commands(k.ctx, k.user.UserID, task.ID)
	if err != nil || list.Problem == "" || list.Commands == nil || len(link.asked) != 0 {
		t.Errorf("before the first turn: %+v, %v, asked %v", list, err, link.asked)
	}
	in := k.checkIn(task.ID, "hi")
	k.mustSend(task.ID, in.TurnID, seqd(1, 1, in.TurnID, `'type':'text','id':'a','text':'working'`))
	list, err = files.Commands(k.ctx, k.user.UserID, task.ID)
	if err != nil || len(list.Commands) != 2 || list.Commands[0].Name != "a" || list.Commands[1].Name != "b\uFFFD" {
		t.Errorf("with a session: %+v, %v", list, err)
	}
	for _, code := range []protocol.Code{protocol.CodeNotFound, protocol.CodeMethodNotAllowed} {
		link.err = protocol.Errorf(code, "none")
		if list, err := files.Commands(k.ctx, k.user.UserID, task.ID); err != nil || list.Problem == "" {
			t.Errorf("%s: %+v, %v", code, list, err)
		}
	}
	link.err = protocol.Errorf(protocol.CodeUnavailable, "it is away")
	if _, err := files.Commands(k.ctx, k.user.UserID, task.ID); protocol.CodeOf(err) != protocol.CodeUnavailable {
		t.Errorf("a host that is away: %v", err)
	}
	if _, err := files.Commands(k.ctx, "another user", task.ID); protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("another user: %v", err)
	}
}
