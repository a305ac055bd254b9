package broker_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// servingHost answers with the life that serves at its URL.
type servingHost struct {
	mu    sync.Mutex
	life  protocol.Life
	err   error
	asked atomic.Int64
}

func (h *servingHost) Life(context.Context, broker.Target) (protocol.Life, error) {
	h.asked.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.life, h.err
}

func (h *servingHost) serves(life protocol.Life, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.life, h.err = life, err
}

// livesKit is a kit with a session on a registered host.
type livesKit struct {
	*kit
	serving *servingHost
	lives   *broker.HostLives
	session string
	hostURL string
	log     *bytes.Buffer
}

func newLives(t *testing.T) *livesKit {
	t.Helper()
	k := &livesKit{kit: newKit(t), serving: &servingHost{}, log: &bytes.Buffer{}}
	hostID := k.register("build")
	k.session = k.kit.session(hostID)
	all, err := k.store.Hosts(k.ctx)
	k.must(err)
	k.hostURL = all[0].URL
	k.lives = k.replica()
	return k
}

// replica returns what another broker on the same database decides with.
func (k *livesKit) replica() *broker.HostLives {
	return &broker.HostLives{
		Store: k.store, Targets: k.targets, Link: k.serving, Now: k.clock.Now, Log: slog.New(slog.NewTextHandler(k.log, nil)),
	}
}

// check sends a life as the host does and compares the code, and how often the host was asked.
func (k *livesKit) check(at *broker.HostLives, life protocol.Life, want protocol.Code, questions int64) {
	k.t.Helper()
	before := k.serving.asked.Load()
	k.ingest.Lives = at
	header := http.Header{}
	if !life.IsZero() {
		header.Set(protocol.HeaderLife, life.String())
	}
	err := k.ingest.CheckLife(k.ctx, k.session, header)
	if asked := k.serving.asked.Load() - before; protocol.CodeOf(err) != want || asked != questions {
		k.t.Errorf("%v, want %q; asked %d times, want %d", err, want, asked, questions)
	}
}

// shown returns the place of the copy that administrators see.
func (k *livesKit) shown() string {
	k.t.Helper()
	list, err := k.hosts.List(k.ctx, k.user)
	k.must(err)
	if list[0].Copy == nil {
		return ""
	}
	return list[0].Copy.Place
}

func lifeOf(host, place string) protocol.Life { return protocol.NewLife(host, place) }

func TestALifeIsAskedForOnceAndKnownToAllReplicas(t *testing.T) {
	t.Parallel()
	k := newLives(t)
	life := lifeOf("h", "m1:/data")
	k.serving.serves(life, nil)
	k.check(k.lives, life, "", 1)
	k.serving.serves(protocol.Life{}, errDown)
	k.check(k.lives, life, "", 0)
	k.check(k.replica(), life, "", 0)
	k.clock.Advance(time.Hour)
	k.check(k.lives, life, "", 0)
	k.check(k.lives, protocol.Life{}, "", 0) // a host of before, or a basic one
}

func TestARestartedHostTakesOverAndItsFormerLifeDoesNot(t *testing.T) {
	t.Parallel()
	k := newLives(t)
	before, after := lifeOf("h", "m1:/data"), lifeOf("h", "m1:/data")
	other := k.replica()
	k.serving.serves(before, nil)
	k.check(k.lives, before, "", 1)
	k.check(other, before, "", 0)
	k.serving.serves(after, nil)
	k.check(k.lives, after, "", 1)
	k.check(other, after, "", 0)
	k.check(k.lives, before, protocol.CodeTwoCopies, 1)
	k.check(other, before, protocol.CodeTwoCopies, 1)
	k.check(k.lives, after, "", 0)
}

func TestASecondCopyIsRefusedAndReportedWhileItTries(t *testing.T) {
	t.Parallel()
	k := newLives(t)
	original, copied := lifeOf("h", "m1:/data"), lifeOf("h", "m2:/copy")
	k.serving.serves(original, nil)
	k.check(k.lives, original, "", 1)
	if k.shown() != "" {
		t.Error("a copy is shown without one")
	}
	k.check(k.lives, copied, protocol.CodeTwoCopies, 1)
	k.check(k.lives, copied, protocol.CodeTwoCopies, 0) // the answer serves for a moment
	k.check(k.lives, original, "", 0)
	if k.shown() != "m2:/copy" {
		t.Errorf("shown is %q", k.shown())
	}
	if text := k.log.String(); strings.Count(text, "two copies of host build") != 1 {
		t.Errorf("logged %s", text)
	}
	for range 10 {
		k.clock.Advance(15 * time.Second)
		k.check(k.lives, copied, protocol.CodeTwoCopies, 1)
		if k.shown() == "" {
			t.Error("not shown any more")
		}
	}
	k.clock.Advance(time.Minute)
	if k.shown() != "" {
		t.Error("still shown")
	}
}

// The original restarts while a copy is refused.
func TestAnAnswerOfBeforeRefusesNoLifeThatBeganSince(t *testing.T) {
	t.Parallel()
	k := newLives(t)
	before, after, copied := lifeOf("h", ""), lifeOf("h", ""), lifeOf("h", "")
	k.serving.serves(before, nil)
	k.check(k.lives, before, "", 1)
	k.check(k.lives, copied, protocol.CodeTwoCopies, 1)
	k.serving.serves(after, nil)
	k.check(k.lives, after, "", 1)
}

func TestWithoutAnAnswerBothLivesWait(t *testing.T) {
	t.Parallel()
	k := newLives(t)
	original, copied := lifeOf("h", ""), lifeOf("h", "")
	k.serving.serves(protocol.Life{}, errDown)
	k.check(k.lives, original, protocol.CodeUnavailable, 1)
	k.check(k.lives, copied, protocol.CodeUnavailable, 1)
	if k.shown() != "" {
		t.Error("two copies are reported")
	}
	k.serving.serves(original, nil)
	k.check(k.lives, original, "", 1)
}

// A task was moved to another host. The one of before still has events of it, which have an earlier epoch.
func TestAnotherHostAtTheURLIsNoCopy(t *testing.T) {
	t.Parallel()
	k := newLives(t)
	k.serving.serves(lifeOf("other", ""), nil)
	k.check(k.lives, lifeOf("h", ""), "", 1)
	if k.shown() != "" {
		t.Error("two copies are reported")
	}
}

func TestAnAnswerOfTheHostMakesItsLifeTheAcceptedOne(t *testing.T) {
	t.Parallel()
	k := newLives(t)
	life := lifeOf("h", "")
	k.lives.Seen(k.ctx, k.hostURL+"/", life)
	k.check(k.lives, life, "", 0)
	k.check(k.replica(), life, "", 0)
}

// Whoever may give a task a URL has a host there. Its word counts for no other URL.
func TestAHostSpeaksForItsOwnURLOnly(t *testing.T) {
	t.Parallel()
	k := newLives(t)
	life, forged := lifeOf("h", ""), lifeOf("h", "")
	k.serving.serves(life, nil)
	k.check(k.lives, life, "", 1)
	own := k.task()
	k.checkIn(own.ID, "hi")
	k.serving.serves(forged, nil)
	k.must(k.lives.Check(k.ctx, own.ID, "https://agent.example", forged))
	k.check(k.lives, life, "", 0)
	k.serving.serves(life, nil)
	k.check(k.lives, forged, protocol.CodeTwoCopies, 1)
}

func TestAHostWithManySessionsIsAskedAFewTimes(t *testing.T) {
	t.Parallel()
	k := newLives(t)
	life, copied := lifeOf("h", ""), lifeOf("h", "")
	k.serving.serves(life, nil)
	for _, one := range []protocol.Life{life, copied} {
		before := k.serving.asked.Load()
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { _ = k.lives.Check(k.ctx, k.session, k.hostURL, one) })
		}
		wg.Wait()
		if asked := k.serving.asked.Load() - before; asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	}
}

func TestTheCustomAgentURLIsAskedInsteadOfTheTasksHost(t *testing.T) {
	t.Parallel()
	k := newLives(t)
	k.targets.CustomAgentURL = "https://custom.example/"
	life := lifeOf("h", "")
	k.serving.serves(life, nil)
	k.check(k.lives, life, "", 1)
	stored, err := k.store.HostLife(k.ctx, "https://custom.example", "h")
	if err != nil || stored != life.ID {
		t.Errorf("%q, %v", stored, err)
	}
}
