package broker_test

import (
	"errors"
	"testing"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
)

func TestTurnFromCheckInToFinish(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		task := k.task()
		in := k.checkIn(task.ID, "Please fix")
		same(t, in, `{'success':true,'sessionId':'`+task.ID+`','streamToken':'stream-token',
			'streamUrl':'https://agent.example/stream/`+task.ID+`','messageId':'`+in.MessageID+`','turnId':'`+in.TurnID+`',
			'expiresAt':'2026-03-04T05:16:07.000891Z','capabilities':['events']}`)
		answer := k.mustSend(task.ID, "",
			seqd(1, 1, in.TurnID, `'type':'status','status':'busy'`),
			seqd(1, 2, in.TurnID, text("Hello <you>")),
			seqd(1, 3, in.TurnID, `'type':'tool-call','toolCallId':'c1','toolName':'read','input':{'path':'a<b'}`),
			seqd(1, 4, in.TurnID, `'type':'tool-result','toolCallId':'c1','toolName':'read','output':'ok'`),
		)
		same(t, answer, `{'success':true,'accepted':4,'duplicates':0,'cursor':{'epoch':1,'seq':4}}`)
		busy := k.get(task.ID)
		if busy.AgentStatus != "busy" || openTurn(busy) != in.TurnID {
			t.Errorf("status %s, open turn %q", busy.AgentStatus, openTurn(busy))
		}
		answer = k.mustSend(task.ID, "", seqd(1, 5, in.TurnID, finishStop+`,'totalUsage':{'inputTokens':3}`))
		same(t, answer, `{'success':true,'accepted':1,'duplicates':0,'cursor':{'epoch':1,'seq':5}}`)

		messages := k.messages(task.ID)
		if len(messages) != 3 {
			t.Fatalf("%d messages", len(messages))
		}
		tool := messages[2]
		same(t, messages, `[
			{'id':'`+in.MessageID+`','seq':1,'rev':2,'taskId':'`+task.ID+`','turnId':'`+in.TurnID+`','role':'USER','status':'SENT',
			 'message':'Please fix','artifacts':[],'eventId':'','createdAt':'2026-03-04T05:06:07.000891Z'},
			{'id':'`+messages[1].ID+`','seq':2,'rev':3,'taskId':'`+task.ID+`','turnId':'`+in.TurnID+`','role':'ASSISTANT','status':'SENT',
			 'message':'Hello <you>','artifacts':[],'eventId':'e1-2','createdAt':'2026-03-04T05:06:07.000891Z'},
			{'id':'`+tool.ID+`','seq':3,'rev':4,'taskId':'`+task.ID+`','turnId':'`+in.TurnID+`','role':'ASSISTANT','status':'SENT',
			 'message':'','artifacts':[{'id':'`+tool.Artifacts[0].ID+`','type':'TOOL_USE','content':{'toolCallId':'c1','toolName':'read',
			 'input':{'path':'a<b'},'output':'ok','isError':false,'state':'done','startedAt':3,'endedAt':4}}],'eventId':'e1-3','createdAt':'2026-03-04T05:06:07.000891Z'}]`)
		same(t, k.get(task.ID), `{'id':'`+task.ID+`','title':'Fix it','mode':'agent','agent':'','project':'','hostId':'',
			'agentUrl':'https://agent.example','agentStatus':'idle','reason':'','openTurn':null,
			'lastTurn':{'id':'`+in.TurnID+`','finishReason':'stop','reason':'','usage':{'inputTokens':3}},'openInteractions':0,
			'readRev':0,'rev':6,'archived':false,'createdAt':'2026-03-04T05:06:07.000891Z','lastActivityAt':'2026-03-04T05:06:07.000891Z'}`)
		if rev := k.notified.rev(task.ID); rev != 6 {
			t.Errorf("the feed was notified of rev %d", rev)
		}
		changes, rev, err := k.feeds.Changes(k.ctx, k.user.UserID, task.ID, 0, 100)
		k.must(err)
		if rev != 6 || len(changes) != 6 {
			t.Fatalf("rev %d, %d changes", rev, len(changes))
		}
		for i, c := range changes {
			if c.Rev != int64(i+1) || (c.Message == nil) == (c.Task == nil) {
				t.Errorf("change %d: %+v", i, c)
			}
		}
		if _, _, err := k.feeds.Changes(k.ctx, k.user.UserID, task.ID, 7, 100); !errors.Is(err, broker.ErrReset) {
			t.Errorf("a future rev: %v", err)
		}
	})
}
