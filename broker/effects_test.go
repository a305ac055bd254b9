package broker_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

// brief returns the rows that the effects left, without ids and times.
func (k *kit) brief(id string) any {
	task := k.get(id)
	rows := []any{}
	for _, m := range k.messages(id) {
		row := map[string]any{"role": m.Role, "turn": m.TurnID, "status": m.Status}
		if m.Message != "" {
			row["text"] = m.Message
		}
		for _, a := range m.Artifacts {
			var tool map[string]any
			k.must(json.Unmarshal(a.Content, &tool))
			delete(tool, "startedAt")
			delete(tool, "endedAt")
			row["tool"] = tool
		}
		rows = append(rows, row)
	}
	view := map[string]any{"status": task.AgentStatus, "open": openTurn(task), "messages": rows}
	if task.Reason != "" {
		view["reason"] = task.Reason
	}
	if task.LastTurn != nil {
		view["last"] = task.LastTurn
	}
	if task.OpenInteractions > 0 {
		view["questions"] = task.OpenInteractions
	}
	return view
}

func TestEffects(t *testing.T) {
	t.Parallel()
	call := `'type':'tool-call','toolCallId':'c','toolName':'sh','input':{'n':1}`
	result := `'type':'tool-result','toolCallId':'c','toolName':'sh','output':[2]`
	const settled = `'type':'tool-result','toolCallId':'c','toolName':'sh','output':'The turn ended before this tool ` +
		`had: host-restarted','isError':true`
	row := func(state, input, output string) string {
		return fmt.Sprintf(`{'role':'ASSISTANT','turn':'t1','status':'SENT','tool':{'toolCallId':'c','toolName':'sh','input':%s,'output':%s,'isError':%t,'state':'%s'}}`,
			input, output, state == "error", state)
	}
	closed := `{'status':'idle','open':'','last':{'id':'t1','finishReason':'stop','reason':'','usage':null},'messages':[`
	ask := `'type':'interaction','interactionId':'q','kind':'confirm'`
	cases := []struct {
		rule  string
		turns []string // of each event; "" means none
		send  []string
		want  string
	}{
		{
			"empty text stores nothing but opens the turn",
			[]string{"t1"},
			[]string{text("")},
			`{'status':'busy','open':'t1','messages':[]}`,
		},
		{
			"a tool call runs",
			[]string{"t1"},
			[]string{call},
			`{'status':'busy','open':'t1','messages':[` + row("running", "{'n':1}", "null") + `]}`,
		},
		{
			"a result completes its call",
			[]string{"t1", "t1"},
			[]string{call, result},
			`{'status':'busy','open':'t1','messages':[` + row("done", "{'n':1}", "[2]") + `]}`,
		},
		{
			"a result before its call waits for it",
			[]string{"t1", "t1"},
			[]string{result, call},
			`{'status':'busy','open':'t1','messages':[` + row("done", "{'n':1}", "[2]") + `]}`,
		},
		{
			"a failed tool",
			[]string{"t1", "t1"},
			[]string{call, result + `,'isError':true`},
			`{'status':'busy','open':'t1','messages':[` + row("error", "{'n':1}", "[2]") + `]}`,
		},
		{
			"a denied tool needs no output",
			[]string{"t1", "t1"},
			[]string{call, `'type':'tool-result','toolCallId':'c','toolName':'sh','denied':true`},
			`{'status':'busy','open':'t1','messages':[` + row("denied", "{'n':1}", "null") + `]}`,
		},
		{
			"a call for a finished use opens another row",
			[]string{"t1", "t1", "t1", "t1"},
			[]string{call, result, call, result},
			`{'status':'busy','open':'t1','messages':[` + row("done", "{'n':1}", "[2]") + `,` + row("done",
				"{'n':1}", "[2]") + `]}`,
		},
		{
			"the same tool id in another turn is another use",
			[]string{"t1", "t1", "t2"},
			[]string{call, finishStop, result},
			`{'status':'busy','open':'t2','last':{'id':'t1','finishReason':'stop','reason':'','usage':null},'messages':[` +
				row("unknown", "{'n':1}", "null") + `,
			{'role':'ASSISTANT','turn':'t2','status':'SENT','tool':{'toolCallId':'c','toolName':'sh','input':null,'output':[2],'isError':false,'state':'done'}}]}`,
		},
		{
			"finish closes its turn and makes the agent idle",
			[]string{"t1", "t1"},
			[]string{text("a"), `'type':'finish','finishReason':'other','reason':'aborted'`},
			`{'status':'idle','open':'','last':{'id':'t1','finishReason':'other','reason':'aborted','usage':null},'messages':[{'role':'ASSISTANT','turn':'t1','status':'SENT','text':'a'}]}`,
		},
		{
			"closed is final: a second finish changes nothing",
			[]string{"t1", "t1"},
			[]string{finishStop, `'type':'finish','finishReason':'error','reason':'late'`},
			`{'status':'idle','open':'','last':{'id':'t1','finishReason':'stop','reason':'','usage':null},'messages':[]}`,
		},
		{
			"an error is the turn's reason unless its finish has one",
			[]string{"t1", "t1", "t1"},
			[]string{text("a"), `'type':'error','message':'no model'`, `'type':'finish','finishReason':'error'`},
			`{'status':'idle','open':'','last':{'id':'t1','finishReason':'error','reason':'no model','usage':null},'messages':[{'role':'ASSISTANT','turn':'t1','status':'SENT','text':'a'}]}`,
		},
		{
			"busy without a turn raises nothing",
			[]string{""},
			[]string{`'type':'status','status':'busy'`},
			`{'status':'none','open':'','messages':[]}`,
		},
		{
			"idle without a turn is shown",
			[]string{""},
			[]string{`'type':'status','status':'idle','reason':'ready'`},
			`{'status':'idle','reason':'ready','open':'','messages':[]}`,
		},
		{
			"busy opens the turn it names",
			[]string{"t1"},
			[]string{`'type':'status','status':'busy'`},
			`{'status':'busy','open':'t1','messages':[]}`,
		},
		{
			"waiting for the user is idle with a reason, in an open turn",
			[]string{"t1", "t1"},
			[]string{text(""), `'type':'status','status':'idle','reason':'waiting'`},
			`{'status':'idle','reason':'waiting','open':'t1','messages':[]}`,
		},
		{
			"a late busy never reopens a finished turn",
			[]string{"t1", "t1", "t1", ""},
			[]string{text(""), finishStop, `'type':'status','status':'busy'`, `'type':'status','status':'busy'`},
			`{'status':'idle','open':'','last':{'id':'t1','finishReason':'stop','reason':'','usage':null},'messages':[]}`,
		},
		{
			"a late idle of a former turn leaves the open one busy",
			[]string{"t1", "t1", "t2", "t1"},
			[]string{text(""), finishStop, text(""), `'type':'status','status':'idle'`},
			`{'status':'busy','open':'t2','last':{'id':'t1','finishReason':'stop','reason':'','usage':null},'messages':[]}`,
		},
		{
			"late text of a closed turn is stored and opens nothing",
			[]string{"t1", "t1"},
			[]string{finishStop, text("late")},
			`{'status':'idle','open':'','last':{'id':'t1','finishReason':'stop','reason':'','usage':null},'messages':[{'role':'ASSISTANT','turn':'t1','status':'SENT','text':'late'}]}`,
		},
		{
			"an open question is counted",
			[]string{"t1"},
			[]string{ask + `,'state':'open','prompt':'May I?'`},
			`{'status':'busy','open':'t1','questions':1,'messages':[]}`,
		},
		{
			"a resolved question is final",
			[]string{"t1", "t1", "t1"},
			[]string{
				ask + `,'state':'open','prompt':'May I?'`, ask + `,'state':'resolved','answer':{'approved':true}`,
				ask + `,'state':'open','prompt':'May I?'`,
			},
			`{'status':'busy','open':'t1','messages':[]}`,
		},
		{
			"a finish ends the questions of its turn",
			[]string{"t1", "t1"},
			[]string{ask + `,'state':'open','prompt':'May I?'`, finishStop},
			`{'status':'idle','open':'','last':{'id':'t1','finishReason':'stop','reason':'','usage':null},'messages':[]}`,
		},
		{
			"a tool without a result is settled when its turn closes",
			[]string{"t1", "t1"},
			[]string{call, finishStop},
			closed + row("unknown", "{'n':1}", "null") + `]}`,
		},
		{
			"a late result completes a settled tool",
			[]string{"t1", "t1", "t1"},
			[]string{call, finishStop, result},
			closed + row("done", "{'n':1}", "[2]") + `]}`,
		},
		{
			"a host that settles the tools of a closed turn again changes no result",
			[]string{"t1", "t1", "t1", "t1"},
			[]string{call, result, finishStop, settled},
			closed + row("done", "{'n':1}", "[2]") + `]}`,
		},
		{
			"a late call of a closed turn does not run",
			[]string{"t1", "t1"},
			[]string{finishStop, call},
			closed + row("unknown", "{'n':1}", "null") + `]}`,
		},
		{
			"a dropped event is stored without effects",
			[]string{""},
			[]string{`'type':'dropped','reason':'refused'`},
			`{'status':'none','open':'','messages':[]}`,
		},
	}
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		for _, c := range cases {
			bodies := make([]string, len(c.send))
			for i, rest := range c.send {
				bodies[i] = seqd(1, int64(i+1), c.turns[i], rest)
				if c.turns[i] == "" {
					bodies[i] = fmt.Sprintf(`{'eventId':'e%d','epoch':1,'seq':%d,'timestamp':1,%s}`, i, i+1, rest)
				}
			}
			t.Run(c.rule, func(t *testing.T) {
				task := k.task()
				for _, body := range bodies {
					k.mustSend(task.ID, "", body)
				}
				same(t, k.brief(task.ID), c.want)
			})
			t.Run(c.rule+", in one batch", func(t *testing.T) {
				task := k.task()
				k.mustSend(task.ID, "", bodies...)
				same(t, k.brief(task.ID), c.want)
			})
		}
	})
}

func TestNotStartedTurnFailsItsMessage(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	first := k.checkIn(task.ID, "one")
	second := k.checkIn(task.ID, "two")
	k.mustSend(task.ID, "", seqd(1, 1, first.TurnID, `'type':'finish','finishReason':'other','reason':'not-started'`))
	k.mustSend(task.ID, "", seqd(1, 2, second.TurnID, text("done")), seqd(1, 3, second.TurnID, finishStop))
	same(t, k.brief(task.ID), `{'status':'idle','open':'','last':{'id':'`+second.TurnID+`','finishReason':'stop','reason':'','usage':null},'messages':[
		{'role':'USER','turn':'`+first.TurnID+`','status':'ERROR','text':'one'},
		{'role':'USER','turn':'`+second.TurnID+`','status':'SENT','text':'two'},
		{'role':'ASSISTANT','turn':'`+second.TurnID+`','status':'SENT','text':'done'}]}`)
}

func TestInteractionShows(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	body := `'type':'interaction','interactionId':'q1','state':'open','kind':'confirm','prompt':'Run it?','toolCallId':'c','toolName':'sh',
		'args':{'cmd':'ls'},'level':'WARN','options':['yes','no'],'default':'no','expiresAt':'2026-03-04T06:00:00Z'`
	k.mustSend(task.ID, "", seqd(1, 1, "t1", body))
	want := func(rest string) string {
		return `{'id':'q1','taskId':'` + task.ID + `','taskTitle':'Fix it','turnId':'t1','kind':'confirm','prompt':'Run it?','toolCallId':'c',
		'toolName':'sh','args':{'cmd':'ls'},'level':'WARN','options':['yes','no'],'default':'no','expiresAt':'2026-03-04T06:00:00Z',
		'createdAt':'2026-03-04T05:06:07.000891Z',` + rest + `}`
	}
	open, err := k.questions.List(k.ctx, k.user.UserID, "open", 0)
	k.must(err)
	same(t, open, `[`+want(`'state':'open'`)+`]`)

	other := k.newUser("eve@example.org", false)
	none, err := k.questions.List(k.ctx, other.UserID, "", 0)
	k.must(err)
	same(t, none, `[]`)
	_, err = k.questions.Answer(k.ctx, other.UserID, "q1", &protocol.AnswerRequest{})
	same(t, fault(err), `{'code':'not_found','error':'Interaction not found'}`)

	yes, no := true, false
	var relayed []byte
	k.host.onAnswer = func(req *protocol.AnswerRequest) error {
		relayed, _ = json.Marshal(req)
		k.mustSend(task.ID, "",
			seqd(1, 2, "t1",
				`'type':'interaction','interactionId':'q1','kind':'confirm','state':'resolved','answer':{'approved':true}`))
		return nil
	}
	answered, err := k.questions.Answer(k.ctx, k.user.UserID, "q1", &protocol.AnswerRequest{
		Approved: &yes, Remember: "session", By: "eve",
	})
	k.must(err)
	same(t, answered, want(`'state':'resolved','answer':{'approved':true}`))
	same(t, json.RawMessage(relayed), `{'approved':true,'remember':'session','by':'`+k.user.UserID+`'}`)

	k.host.onAnswer = func(*protocol.AnswerRequest) error { t.Error("relayed again"); return nil }
	answered, err = k.questions.Answer(k.ctx, k.user.UserID, "q1", &protocol.AnswerRequest{Approved: &yes})
	k.must(err)
	same(t, answered, want(`'state':'resolved','answer':{'approved':true}`))
	_, err = k.questions.Answer(k.ctx, k.user.UserID, "q1", &protocol.AnswerRequest{Approved: &no})
	same(t, fault(err), `{'code':'answered','error':'The interaction was answered otherwise'}`)

	changes, _, err := k.feeds.Changes(k.ctx, k.user.UserID, task.ID, 0, 100)
	k.must(err)
	var kinds []broker.ChangeKind
	for _, c := range changes {
		kinds = append(kinds, c.Kind)
	}
	same(t, kinds, `['interaction','task','interaction','task']`)
}

func TestAToolUseHasTheTimesOfItsCallAndItsResult(t *testing.T) {
	t.Parallel()
	call := `'type':'tool-call','toolCallId':'c','toolName':'sh','input':{}`
	result := `'type':'tool-result','toolCallId':'c','toolName':'sh','output':1`
	at := func(seq int, time, rest string) string {
		return fmt.Sprintf(`{'eventId':'e%d','epoch':1,'seq':%d,'turnId':'t1',%s%s}`, seq, seq, time, rest)
	}
	for rule, c := range map[string]struct {
		events     []string
		start, end int64
	}{
		"call and result":  {[]string{at(1, "'timestamp':1000,", call), at(2, "'timestamp':3500,", result)}, 1000, 3500},
		"result and call":  {[]string{at(1, "'timestamp':3500,", result), at(2, "'timestamp':1000,", call)}, 1000, 3500},
		"a call that runs": {[]string{at(1, "'timestamp':1000,", call)}, 1000, 0},
		"without times":    {[]string{at(1, "'timestamp':0,", call), at(2, "'timestamp':-5,", result)}, 0, 0},
	} {
		t.Run(rule, func(t *testing.T) {
			k := newKit(t)
			task := k.task()
			k.mustSend(task.ID, "", c.events...)
			var use protocol.ToolUse
			k.must(json.Unmarshal(k.messages(task.ID)[0].Artifacts[0].Content, &use))
			if use.StartedAt != c.start || use.EndedAt != c.end {
				t.Errorf("from %d to %d", use.StartedAt, use.EndedAt)
			}
		})
	}
}
