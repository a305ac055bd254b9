package codex_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
)

func TestAnInterruptedMessageIsEnded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+
		started(`{"type":"agentMessage","id":"m1"}`)+delta("m1", "first ")+
		started(`{"type":"agentMessage","id":"m2"}`)+delta("m2", "second")+
		completed(`{"type":"agentMessage","id":"m2","text":"second."}`)+turnCompleted)
	out := &providertest.Recorder{}
	f.Want(f.Run(out, "hello"), providertest.Finished)
	if got := out.Texts(); !slices.Equal(got, []string{"first ", "second."}) {
		t.Errorf("got the texts %q", got)
	}
}

func TestAMessageCompletedAfterAToolCallIsShownOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+
		delta("m1", "one ")+started(command)+completed(commandDone)+
		completed(`{"type":"agentMessage","id":"m1","text":"one two"}`)+turnCompleted)
	out := &providertest.Recorder{}
	f.Want(f.Run(out, "hello"), providertest.Finished)
	if got := out.Texts(); !slices.Equal(got, []string{"one ", "two"}) {
		t.Errorf("got the texts %q", got)
	}
}

func TestASecondPromptWhileBusyIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+delta("m1", "busy")+turnInterrupt)
	out := &providertest.Recorder{}
	end := f.Begin(out, agenthost.Prompt{Text: "first"})
	f.Await(out, providertest.KindText)
	if _, err := f.Agent.Run(t.Context(), agenthost.Prompt{Text: "second"}, &providertest.Recorder{}); err == nil {
		t.Error("a second turn began")
	}
	f.Interrupt(end)
}

func TestAnApprovalResolvedElsewhereIsCancelled(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+started(command)+asking(0, approve, approval)+
		`{"dir":"out","msg":{"method":"serverRequest/resolved","params":{"threadId":"th","requestId":0}}}`+"\n"+
		completed(commandDone)+turnCompleted)
	cancelled := make(chan error, 1)
	out := &providertest.Recorder{
		Decide: func(ctx context.Context, _ string, _ agenthost.Question) (agenthost.Answer, error) {
			<-ctx.Done()
			cancelled <- ctx.Err()
			return agenthost.Answer{Approved: true}, nil
		},
	}
	f.Want(f.Run(out, "hello"), providertest.Finished)
	if err := <-cancelled; err == nil {
		t.Error("the question stayed open")
	}
}

func TestAnInterruptCancelsTheOpenApproval(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+started(command)+asking(0, approve, approval)+
		answered(0, `{"decision":"cancel"}`)+
		asking(1, approve, approval)+answered(1, `{"decision":"cancel"}`)+ // asked after the interrupt
		turnInterrupt)
	out := &providertest.Recorder{}
	end := f.Begin(out, agenthost.Prompt{Text: "hello"})
	f.Await(out, providertest.KindConfirm)
	f.Interrupt(end)
}

func TestAnApprovalBetweenTurnsIsCancelled(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+turnCompleted+
		asking(0, approve, approval)+answered(0, `{"decision":"cancel"}`)+
		`{"dir":"in","msg":{"id":4,"method":"turn/start"}}
{"dir":"out","msg":{"id":4,"result":{"turn":{"id":"t2"}}}}
{"dir":"out","msg":{"method":"turn/completed","params":{"threadId":"th","turn":{"id":"t2","status":"completed"}}}}
`)
	rejected := make(providertest.DebugLog, 1)
	f.Spec.Log = slog.New(rejected)
	f.Want(f.Run(&providertest.Recorder{}, "first"), providertest.Finished)
	<-rejected
	f.Want(f.Run(&providertest.Recorder{}, "second"), providertest.Finished)
}

func TestLateMessagesOfAnEarlierTurnAreIgnored(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+
		about("item/started", "th", "t0", command)+
		`{"dir":"out","msg":{"method":"turn/completed","params":{"threadId":"th","turn":{"id":"t0","status":"failed"}}}}`+
		"\n"+
		`{"dir":"out","msg":{"method":"serverRequest/resolved","params":{"threadId":"th","requestId":7}}}`+"\n"+
		delta("m1", "mine")+turnCompleted)
	out := &providertest.Recorder{}
	f.Want(f.Run(out, "hello"), providertest.Finished)
	if len(out.Of(providertest.KindCall)) > 0 || !slices.Equal(out.Texts(), []string{"mine"}) {
		t.Errorf("got %+v", out.Entries())
	}
}

func TestOnlyTheToolsOfASubAgentAreShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+
		about("item/started", "sub", "s1", command)+
		asking(0, approve, `{"threadId":"sub","turnId":"s1","itemId":"c1","command":"touch x"}`)+
		answered(0, `{"decision":"accept"}`)+
		about("item/completed", "sub", "s1", commandDone)+
		about("item/completed", "sub", "s1", `{"type":"agentMessage","id":"m9","text":"to the main agent"}`)+
		`{"dir":"out","msg":{"method":"turn/completed","params":{"threadId":"sub","turn":{"id":"s1","status":"completed"}}}}`+
		"\n"+
		delta("m1", "done")+turnCompleted)
	out := providertest.Answering(agenthost.Answer{Approved: true})
	f.Want(f.Run(out, "hello"), providertest.Finished)
	if len(out.Of(providertest.KindResult)) != 1 || !slices.Equal(out.Texts(), []string{"done"}) {
		t.Errorf("got %+v", out.Entries())
	}
}

func TestAnApprovalBeforeItsItemAnnouncesTheCall(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+asking(0, approve, approval)+answered(0, `{"decision":"decline"}`)+turnCompleted)
	out := providertest.Answering(agenthost.Answer{Expired: true})
	f.Want(f.Run(out, "hello"), providertest.Finished)
	results := out.Of(providertest.KindResult)
	if len(results) != 1 || !results[0].Result.Denied {
		t.Errorf("got %+v", out.Entries())
	}
}

func TestACallThatTheAgentDeclinesIsDenied(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+started(command)+
		completed(`{"type":"commandExecution","id":"c1","command":"touch x","status":"declined"}`)+turnCompleted)
	out := &providertest.Recorder{}
	f.Want(f.Run(out, "hello"), providertest.Finished)
	if results := out.Of(providertest.KindResult); len(results) != 1 || !results[0].Result.Denied ||
		results[0].Result.IsError {
		t.Errorf("got %+v", out.Entries())
	}
}

func TestAnInterruptWaitsForTheTurnsID(t *testing.T) {
	t.Parallel()
	f := newFixture(t, initialize+threadStart+
		`{"dir":"in","msg":{"id":3,"method":"turn/start"}}
{"dir":"out","msg":{"method":"warning","params":{"threadId":"th","message":"now"}}}
{"dir":"out","msg":{"id":9,"method":"item/tool/call","params":{}}}
{"dir":"in","msg":{"id":9,"error":"*"}}
{"dir":"out","msg":{"id":3,"result":{"turn":{"id":"t1"}}}}
`+turnInterrupt)
	out := &providertest.Recorder{}
	end := f.Begin(out, agenthost.Prompt{Text: "hello"})
	f.Await(out, providertest.KindNotice)
	f.Interrupt(end)
}

// Codex refuses to interrupt a turn whose id it has told and which it has not begun.
func TestAnInterruptThatIsRefusedIsSentAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, initialize+threadStart+
		`{"dir":"in","msg":{"id":3,"method":"turn/start"}}
{"dir":"out","msg":{"method":"warning","params":{"threadId":"th","message":"now"}}}
{"dir":"out","msg":{"id":9,"method":"item/tool/call","params":{}}}
{"dir":"in","msg":{"id":9,"error":"*"}}
{"dir":"out","msg":{"id":3,"result":{"turn":{"id":"t1"}}}}
{"dir":"in","msg":{"id":4,"method":"turn/interrupt"}}
{"dir":"out","msg":{"id":4,"error":{"code":-32600,"message":"no active turn to interrupt"}}}
{"dir":"out","msg":{"method":"turn/started","params":{"threadId":"th","turn":{"id":"t1"}}}}
`+turnInterrupt)
	out := &providertest.Recorder{}
	end := f.Begin(out, agenthost.Prompt{Text: "hello"})
	f.Await(out, providertest.KindNotice)
	f.Interrupt(end)
}

func TestAnInterruptStopsAStartingProgram(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{"dir":"in","msg":{"method":"initialize"}}
{"dir":"in","msg":{"method":"never"}}
`)
	asked := make(chan struct{})
	find := f.options.Find
	f.options.Find = func(ctx context.Context) (string, error) {
		close(asked)
		return find(ctx)
	}
	end := f.Begin(&providertest.Recorder{}, agenthost.Prompt{Text: "hello"})
	<-asked
	f.Interrupt(end)
}

func TestAProgramThatIgnoresTheInterruptIsEndedBySignals(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+delta("m1", "on and on")+`{"dir":"in","msg":{"method":"turn/interrupt"}}
{"dir":"in","msg":{"method":"never"}}
`)
	f.options.Grace = time.Millisecond
	out := &providertest.Recorder{}
	f.InterruptAt(out, providertest.KindText)
}

func TestTheErrorOfFindIsTheErrorOfRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	missing := errors.New("install it: bellhop agents install codex")
	f.options.Find = func(context.Context) (string, error) { return "", missing }
	if _, err := f.Begin(&providertest.Recorder{}, agenthost.Prompt{Text: "hello"})(); !errors.Is(err, missing) {
		t.Errorf("got %v", err)
	}
}

func TestAProgramThatDoesNotStartIsReportedWithItsLastLines(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{"dir":"stderr","msg":"config.toml: no such key"}
{"dir":"exit","msg":1}
`)
	_, err := f.Begin(&providertest.Recorder{}, agenthost.Prompt{Text: "hello"})()
	if err == nil || !strings.Contains(err.Error(), "no such key") || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("got %v", err)
	}
}
