package agenthost_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/agenthost"
	"bellhop/agenthost/journal"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is after how long a test is taken to hang.
const patience = 3 * time.Minute

const agentPassword = "agent-password-canary"

// rig is a host on a real journal, with a scripted agent and a scripted broker.
type rig struct {
	*testing.T
	dir     string
	agent   *fakeAgent
	broker  *fakeBroker
	options func(*agenthost.Options)

	host    *agenthost.Host
	journal *journal.Journal
	stop    func() // ends Run and closes the journal; safe to call twice
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, dir: t.TempDir(), agent: newFakeAgent(), broker: newFakeBroker(t)}
	return r
}

// start opens the journal and runs a host on it until the test ends.
func (r *rig) start() *rig {
	r.Helper()
	r.open(filepath.Join(r.dir, "data"))
	r.run()
	return r
}

// run runs the host until the test ends.
func (r *rig) run() {
	r.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	host, j := r.host, r.journal
	go func() { done <- host.Run(ctx) }()
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			r.Errorf("Run: %v", err)
		}
		if err := j.Close(); err != nil {
			r.Errorf("close the journal: %v", err)
		}
	}
	r.Cleanup(r.stop)
}

// crash returns a copy of the journal as a killed process would leave it, and lets
// the host continue beside it, unseen.
func (r *rig) crash() (data string) {
	r.Helper()
	data = r.copyJournal()
	r.broker.refuseAll(true)
	r.stop()
	r.broker.refuseAll(false)
	return data
}

// copyJournal returns a copy of the journal as it stands, which is also what a
// backup of its directory holds.
func (r *rig) copyJournal() (data string) {
	r.Helper()
	from, data := filepath.Dir(r.journal.Path()), r.TempDir()
	if err := os.CopyFS(data, os.DirFS(from)); err != nil {
		r.Fatal(err)
	}
	// SQLite's shared memory is rebuilt from the log, as after a kill.
	if err := os.Remove(filepath.Join(data, "journal.db-shm")); err != nil {
		r.Fatal(err)
	}
	return data
}

// cursor is the position of a session's newest event.
func (r *rig) cursor(session string) protocol.Cursor {
	r.Helper()
	status, err := r.host.Status(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	for _, s := range status.Sessions {
		if s.ID == session {
			return s.Cursor
		}
	}
	return protocol.Cursor{}
}

// open makes a host that does not run.
func (r *rig) open(data string) {
	r.Helper()
	j, err := journal.Open(data, time.Now())
	if err != nil {
		r.Fatal(err)
	}
	opts := agenthost.Options{
		Journal: j, Providers: map[string]agenthost.Provider{"fake": r.agent}, DefaultAgent: "fake",
		Workspaces: directories{r.TempDir()}, Password: seal.NewSecret(agentPassword),
		PublicURL: "http://host.example/", DrainTimeout: 50 * time.Millisecond,
	}
	if r.options != nil {
		r.options(&opts)
	}
	host, err := agenthost.New(opts)
	if err != nil {
		_ = j.Close()
		r.Fatal(err)
	}
	r.host, r.journal = host, j
}

type directories struct{ root string }

func (d directories) Dir(_ context.Context, sessionID, _ string) (dir, stateDir string, err error) {
	dir = filepath.Join(d.root, sessionID)
	return dir, dir, os.MkdirAll(dir, 0o700)
}

// announce opens the session with a turn and returns its grant.
func (r *rig) announce(session, turn string) agenthost.Grant {
	r.Helper()
	res := r.openSession(&protocol.OpenSessionRequest{
		SessionID: session, WebhookURL: r.broker.url(), BrokerID: "broker-1", NamedAnswers: true,
		Cursor: r.broker.cursorOf(session), Turn: &protocol.AnnouncedTurn{ID: turn},
	})
	return r.grant(session, res.Token)
}

func (r *rig) openSession(req *protocol.OpenSessionRequest) *protocol.OpenSessionResponse {
	r.Helper()
	res, err := r.host.Open(r.Context(), req, agenthost.Keys{})
	if err != nil {
		r.Fatalf("open: %v", err)
	}
	return res
}

func (r *rig) grant(session, token string) agenthost.Grant {
	r.Helper()
	g, err := r.host.Authorize(r.Context(), session, token)
	if err != nil {
		r.Fatalf("authorize: %v", err)
	}
	return g
}

// turn runs a whole turn with a script and returns its frames.
func (r *rig) turn(session, turn string, script ...step) []frame {
	r.Helper()
	r.agent.script(script...)
	stream, err := r.host.Start(r.Context(), r.announce(session, turn), &protocol.PromptRequest{Prompt: "go"})
	if err != nil {
		r.Fatalf("start: %v", err)
	}
	return r.read(stream)
}

// read reads a stream to its end.
func (r *rig) read(stream *agenthost.Stream) []frame {
	r.Helper()
	defer stream.Close()
	return r.readN(stream, -1)
}

// readN reads n frames, -1 for all.
func (r *rig) readN(stream *agenthost.Stream, n int) []frame {
	r.Helper()
	var out []frame
	for len(out) != n {
		data, ok := r.next(stream)
		if !ok {
			if n >= 0 {
				r.Fatalf("the stream ended after %d of %d frames", len(out), n)
			}
			return out
		}
		out = append(out, data)
	}
	return out
}

func (r *rig) next(stream *agenthost.Stream) (frame, bool) {
	r.Helper()
	if len(stream.Backlog) > 0 {
		data := stream.Backlog[0]
		stream.Backlog = stream.Backlog[1:]
		return parseFrame(r.T, data), true
	}
	if stream.Live == nil {
		return frame{}, false
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	data, err := stream.Live.Next(ctx)
	if err != nil {
		if ctx.Err() != nil {
			r.Fatal("the stream is silent")
		}
		return frame{}, false
	}
	return parseFrame(r.T, data), true
}

// until waits for a condition that follows from something already under way.
func (r *rig) until(what string, holds func() bool) {
	r.Helper()
	watch := r.host.WatchStatus()
	defer watch.Close()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	poll := time.NewTicker(5 * time.Millisecond) // a fake broker signals nothing
	defer poll.Stop()
	for !holds() {
		select {
		case <-watch.C:
		case <-poll.C:
		case <-limit.C:
			r.Fatal("never happened: " + what)
		}
	}
}

func (r *rig) delivered() {
	r.Helper()
	r.until("everything is acknowledged", func() bool {
		status, err := r.host.Status(r.Context())
		return err == nil && status.Unacknowledged == 0
	})
}
