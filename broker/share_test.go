package broker_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

func (k *kit) shares() *broker.Shares {
	return &broker.Shares{
		Store: k.store, Updater: k.updater, Targets: k.targets, PublicURL: "https://broker.example/", Now: k.clock.Now,
		Log: slog.New(slog.DiscardHandler), Secrets: []seal.Secret{seal.NewSecret("installation-secret")},
	}
}

// sharedTask has an ended turn with secrets, and one that has not ended.
func (k *kit) sharedTask() (task *protocol.Task, open *protocol.CheckInResponse) {
	k.t.Helper()
	task = k.task()
	first := k.checkIn(task.ID, "Deploy with agent-password to https://agent.example/hook")
	k.mustSend(task.ID, "",
		seqd(1, 1, first.TurnID, `'type':'tool-call','toolCallId':'c1','toolName':'bash',
			'input':{'command':'curl -H \'Authorization: Bearer abcdefgh12345678\' x','apiKey':'k-1'}`),
		seqd(1, 2, first.TurnID, `'type':'interaction','interactionId':'q1','state':'open','kind':'confirm','prompt':'Run it?',
			'toolCallId':'c1','toolName':'bash','args':{'command':'secret-arguments'}`),
		seqd(1, 3, first.TurnID, fmt.Sprintf(`'type':'interaction','interactionId':'q1','state':'resolved','kind':'confirm',
			'answer':{'approved':true,'reason':'because I say so','by':'%s'}`, k.user.UserID)),
		seqd(1, 4, first.TurnID, `'type':'tool-result','toolCallId':'c1','toolName':'bash',
			'output':'installation-secret sk-ant-api03-abcdefghijklmnop1234'`),
		seqd(1, 5, first.TurnID, `'type':'interaction','interactionId':'q2','state':'open','kind':'ask','prompt':'Which PIN?'`),
		seqd(1, 6, first.TurnID, fmt.Sprintf(`'type':'interaction','interactionId':'q2','state':'resolved','kind':'ask',
			'answer':{'text':'pin-4711','by':'%s'}`, k.user.UserID)),
		seqd(1, 7, first.TurnID, text("Done & <b>well</b>")),
		seqd(1, 8, first.TurnID, finishStop+`,'totalUsage':{'inputTokens':3}`))
	open = k.checkIn(task.ID, "Second message")
	k.mustSend(task.ID, "", seqd(1, 9, open.TurnID, text("half an answer")))
	return task, open
}

func TestALinkShowsTheTurnsThatHadEnded(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		shares := k.shares()
		task, second := k.sharedTask()
		link, err := shares.Create(k.ctx, k.user.UserID, task.ID, &protocol.ShareRequest{})
		k.must(err)
		if want := "https://broker.example/shared#" + link.Token; link.URL != want || !strings.HasPrefix(link.Token, "bhs_") {
			t.Errorf("url %q, want %q", link.URL, want)
		}
		want := func() {
			t.Helper()
			page, err := shares.Read(k.ctx, link.Token, 0)
			k.must(err)
			for i := range page.Messages {
				page.Messages[i].ID = fmt.Sprint("m", i)
				for j := range page.Messages[i].Artifacts {
					page.Messages[i].Artifacts[j].ID = "a"
				}
			}
			raw, err := json.Marshal(page)
			k.must(err)
			plain := strings.ReplaceAll(string(raw), page.Messages[0].TurnID, "turn")
			same(t, json.RawMessage(plain), `{'title':'Fix it','sharedAt':'2026-03-04T05:06:07.000891Z',
				'expiresAt':'2026-03-11T05:06:07.000891Z','nextAfter':3,'more':false,
				'turns':[{'id':'turn','finishReason':'stop','reason':'','usage':null}],
				'messages':[
				{'id':'m0','seq':1,'rev':0,'taskId':'','turnId':'turn','role':'USER','status':'SENT','artifacts':[],'eventId':'',
				 'message':'Deploy with [redacted] to [redacted]/hook','createdAt':'2026-03-04T05:06:07.000891Z'},
				{'id':'m1','seq':2,'rev':0,'taskId':'','turnId':'turn','role':'ASSISTANT','status':'SENT','message':'','eventId':'',
				 'artifacts':[{'id':'a','type':'TOOL_USE','content':{'toolCallId':'c1','toolName':'bash','isError':false,'state':'done',
				 'input':{'command':'curl -H \'Authorization: [redacted]\' x','apiKey':'[redacted]'},'output':'[redacted] [redacted]',
				 'startedAt':1,'endedAt':4}}],'createdAt':'2026-03-04T05:06:07.000891Z'},
				{'id':'m2','seq':3,'rev':0,'taskId':'','turnId':'turn','role':'ASSISTANT','status':'SENT','artifacts':[],'eventId':'',
				 'message':'Done & <b>well</b>','createdAt':'2026-03-04T05:06:07.000891Z'}],
				'interactions':[
				{'id':'q1','taskId':'','taskTitle':'','turnId':'turn','state':'resolved','kind':'confirm','prompt':'Run it?',
				 'toolCallId':'c1','toolName':'bash','answer':{'approved':true},'createdAt':'2026-03-04T05:06:07.000891Z'},
				{'id':'q2','taskId':'','taskTitle':'','turnId':'turn','state':'resolved','kind':'ask','prompt':'Which PIN?',
				 'answer':{},'createdAt':'2026-03-04T05:06:07.000891Z'}]}`)
		}
		want()
		k.mustSend(task.ID, "", seqd(1, 10, second.TurnID, finishStop))
		title := "Renamed"
		_, err = k.tasks.Update(k.ctx, k.user, task.ID, broker.TaskPatch{Title: &title})
		k.must(err)
		want() // what came later stays out
		list, err := shares.List(k.ctx, k.user.UserID, "")
		k.must(err)
		if len(list.Shares) != 1 || list.Shares[0].LastUsedAt == nil || list.Shares[0].Token != "" ||
			list.Shares[0].TaskTitle != "Renamed" || list.Shares[0].Title != "Fix it" {
			t.Errorf("%+v", list.Shares)
		}
	})
}

func TestAResultThatCameAfterALinkStaysOut(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	shares, task := k.shares(), k.task()
	in := k.checkIn(task.ID, "Go")
	k.mustSend(task.ID, "",
		seqd(1, 1, in.TurnID, `'type':'tool-call','toolCallId':'c1','toolName':'bash','input':{'command':'make'}`),
		seqd(1, 2, in.TurnID, finishStop))
	link, err := shares.Create(k.ctx, k.user.UserID, task.ID, &protocol.ShareRequest{})
	k.must(err)
	k.mustSend(task.ID, "", seqd(1, 3, in.TurnID,
		`'type':'tool-result','toolCallId':'c1','toolName':'bash','output':'came later','isError':true`))
	page, err := shares.Read(k.ctx, link.Token, 0)
	k.must(err)
	same(t, page.Messages[1].Artifacts[0].Content, `{'toolCallId':'c1','toolName':'bash','input':{'command':'make'},
		'output':null,'isError':false,'state':'unknown','startedAt':1}`)
	var out bytes.Buffer
	k.must(shares.Export(k.ctx, link.Token, func() {}, &out))
	if strings.Contains(out.String(), "came later") || !strings.Contains(out.String(), "bash, result unknown") {
		t.Errorf("%s", out.String())
	}
}

func TestALinkEndsByTimeByItsOwnerWithItsTaskAndWithItsUser(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	shares := k.shares()
	task, _ := k.sharedTask()
	create := func(life int64) *protocol.Share {
		t.Helper()
		link, err := shares.Create(k.ctx, k.user.UserID, task.ID, &protocol.ShareRequest{ExpiresIn: life})
		k.must(err)
		return link
	}
	const gone = `{'code':'not_found','error':'This link does not work','hint':'It may have expired. Ask for a new one'}`
	isGone := func(token string) {
		t.Helper()
		_, err := shares.Read(k.ctx, token, 0)
		same(t, fault(err), gone)
		same(t, fault(shares.Export(k.ctx, token, func() { t.Error("the document begins") }, &bytes.Buffer{})), gone)
	}
	short, long, kept := create(protocol.MinShareLife), create(protocol.MaxShareLife), create(0)
	isGone("")
	isGone(long.Token + "x")
	k.clock.Advance(time.Duration(protocol.MinShareLife) * time.Second)
	isGone(short.Token)
	_, err := shares.Read(k.ctx, long.Token, 0)
	k.must(err)
	bob := k.newUser("bob@example.org", false)
	same(t, fault(shares.Revoke(k.ctx, bob.UserID, long.ID)), `{'code':'not_found','error':'Share link not found'}`)
	_, err = shares.List(k.ctx, bob.UserID, task.ID)
	same(t, fault(err), `{'code':'not_found','error':'Task not found'}`)
	_, err = shares.Create(k.ctx, bob.UserID, task.ID, &protocol.ShareRequest{})
	same(t, fault(err), `{'code':'not_found','error':'Task not found'}`)
	k.must(shares.Revoke(k.ctx, k.user.UserID, long.ID))
	isGone(long.Token)
	k.must(k.delete(k.user.UserID, task.ID))
	isGone(kept.Token)
	k.upkeep.Prune(k.ctx)

	task, _ = k.sharedTask()
	kept = create(0)
	k.must(k.store.RevokeUser(k.ctx, k.user.UserID, k.clock.Now()))
	isGone(kept.Token)
	entries, err := k.store.AuditEntries(k.ctx, broker.AuditFilter{Action: "share", Limit: 10})
	k.must(err)
	acts := map[protocol.AuditAction]int{}
	for _, e := range entries {
		acts[e.Action]++
		if e.Detail["share"] == "" || e.Subject.Kind != protocol.AuditOfTask || e.Subject.ID == "" {
			t.Errorf("%+v", e)
		}
	}
	if acts[protocol.AuditShareCreated] != 4 || acts[protocol.AuditShareRevoked] != 1 {
		t.Errorf("%v", acts)
	}
}

func TestLinksAreBounded(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	shares, fresh := k.shares(), k.task()
	create := func(taskID string, life int64) any {
		_, err := shares.Create(k.ctx, k.user.UserID, taskID, &protocol.ShareRequest{ExpiresIn: life})
		return fault(err)
	}
	const nothing = `{'code':'invalid','error':'There is nothing to share yet: no turn of the task has ended',
		'hint':'Share the task when the agent has answered'}`
	same(t, create(fresh.ID, 0), nothing)
	k.checkIn(fresh.ID, "Go")
	same(t, create(fresh.ID, 0), nothing)
	for _, life := range []int64{-1, protocol.MinShareLife - 1, protocol.MaxShareLife + 1} {
		same(t, create(fresh.ID, life), `{'code':'invalid','error':'expiresIn must be from 60 to 2592000 seconds'}`)
	}
	task, _ := k.sharedTask()
	for range protocol.MaxTaskShares {
		same(t, create(task.ID, 0), `null`)
	}
	same(t, create(task.ID, 0), `{'code':'conflict','error':'There are as many share links as can work at the same time',
		'hint':'Revoke one that is not needed any more'}`)
	k.clock.Advance(time.Duration(protocol.DefaultShareLife) * time.Second)
	same(t, create(task.ID, 0), `null`)
}

func TestASharedTranscriptComesInPages(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	shares, task := k.shares(), k.task()
	var turns []string
	seq := int64(0)
	for range 60 {
		in := k.checkIn(task.ID, "Go")
		turns = append(turns, in.TurnID)
		k.mustSend(task.ID, "", seqd(1, seq+1, in.TurnID, text("ok")), seqd(1, seq+2, in.TurnID, finishStop))
		seq += 2
	}
	big := k.checkIn(task.ID, strings.Repeat("x", 1<<20))
	k.mustSend(task.ID, "", seqd(1, seq+1, big.TurnID, text("end")), seqd(1, seq+2, big.TurnID, finishStop))
	link, err := shares.Create(k.ctx, k.user.UserID, task.ID, &protocol.ShareRequest{})
	k.must(err)
	var sizes []int
	seen := map[int64]bool{}
	for after := int64(0); ; {
		page, err := shares.Read(k.ctx, link.Token, after)
		k.must(err)
		sizes = append(sizes, len(page.Messages))
		for _, m := range page.Messages {
			if seen[m.Seq] {
				t.Errorf("message %d twice", m.Seq)
			}
			seen[m.Seq] = true
		}
		after = page.NextAfter
		if !page.More {
			break
		}
	}
	if fmt.Sprint(sizes) != "[50 50 21 1]" || len(seen) != 122 {
		t.Errorf("pages of %v messages, %d in all, of turns %d", sizes, len(seen), len(turns))
	}
}
