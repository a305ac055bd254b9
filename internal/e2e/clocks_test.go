//go:build full

package e2e

import (
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the tests are on every machine

	"bellhop/agenthost/provider/providertest"
	"bellhop/client"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// clocked is a broker with a clock of its own, and a host with the machine's.
type clocked struct {
	*running
	t       *testing.T
	webhook *passage
	fake    *providertest.Fake
	id      string // of the task
}

func newClocked(t *testing.T, now func() time.Time) *clocked {
	t.Helper()
	webhook, through := newPassage(t)
	b := withUser(t, runBroker(t, app.BrokerConfig{
		StoreConfig: app.StoreConfig{
			DatabaseURL: seal.NewSecret("sqlite:" + filepath.Join(t.TempDir(), "broker.db")), Keyset: newKeyset(t),
		},
		WebhookURL: webhook.URL, Now: now,
	}))
	through(b.URL)
	fake := &providertest.Fake{}
	host := runHost(t, fake)
	return &clocked{running: b, t: t, webhook: webhook, fake: fake, id: b.task(t, host.URL, "")}
}

// turn runs a turn of two texts and calls between when the first is stored and the
// agent waits. It expects that both are stored once and that the turn ends well.
func (c *clocked) turn(prompt string, between func()) {
	c.t.Helper()
	before := len(messagesOf(c.t, c.client(), c.id))
	script := "text " + prompt + " first\nend\nwait " + prompt + "\ntext " + prompt + " second\nend"
	stream, moved := send(c.t, c.client(), c.id, script), false
	toEnd(c.t, stream, func(event client.Event, _ *client.Transcript) {
		if !moved && isPart(event, protocol.PartTextEnd) {
			moved = true
			eventually(c.t,
				"the first text is stored", func() bool { return len(messagesOf(c.t, c.client(), c.id)) == before+2 })
			between()
			c.fake.Release(prompt)
		}
	})
	eventually(c.t, "the turn has ended", func() bool {
		task, err := c.client().Task(c.t.Context(), c.id)
		return err == nil && task.OpenTurn == nil && task.LastTurn != nil && task.LastTurn.ID == stream.TurnID
	})
	var texts []string
	for _, m := range historyOf(c.t, c.client(), c.id)[before:] {
		texts = append(texts, m.Message)
		if m.Status != protocol.MessageSent {
			c.t.Errorf("%s: %q is %s", prompt, m.Message, m.Status)
		}
	}
	if want := []string{script, prompt + " first", prompt + " second"}; !slices.Equal(texts, want) {
		c.t.Errorf("%s: stored are %q, want %q", prompt, texts, want)
	}
	task, err := c.client().Task(c.t.Context(), c.id)
	if err != nil || task.LastTurn.FinishReason != protocol.FinishStop {
		c.t.Errorf("%s: the turn ended as %+v, %v", prompt, task.LastTurn, err)
	}
}

// PROC-14: the broker's clock is an hour ahead of the host's or behind it, and jumps
// during turns; a freeze outlasts the token. Nothing is lost or doubled, and no turn
// is taken for lost.
func TestClocksThatDifferAndJumpLoseNothing(t *testing.T) {
	t.Parallel()
	for name, offset := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := testenv.NewClock(time.Now().Add(offset))
			c := newClocked(t, clock.Now)
			renewals := func() int {
				n := 0
				for _, p := range c.webhook.log() {
					if (p == passed{"/api/agent/webhook/renew", http.StatusOK}) {
						n++
					}
				}
				return n
			}
			c.turn("apart", func() {})
			c.turn("forward", func() { clock.Advance(time.Hour) })
			if renewals() == 0 {
				t.Error("a token of an hour ago was not renewed")
			}
			before := renewals()
			c.turn("back", func() { clock.Advance(-2 * time.Hour) })
			if renewals() == before {
				t.Error("a token of the future was not renewed")
			}
			c.turn("frozen", func() {
				c.webhook.block(true)
				clock.Advance(10*time.Minute + time.Second)
				c.fake.Release("frozen")
				eventually(t, "an event was sent meanwhile", func() bool {
					return slices.Contains(c.webhook.log(), passed{"/api/agent/webhook", http.StatusServiceUnavailable})
				})
				c.webhook.block(false)
			})
			c.turn("last", func() {})
		})
	}
}

// PROC-15: the process runs in a zone whose clocks are put forward and back, and a
// leap second is a second that the clock shows twice.
func TestTimeZonesAndLeapSecondsChangeNothing(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		start time.Time
		jump  time.Duration
	}{
		"clocks are put forward": {time.Date(2026, 3, 29, 0, 59, 59, 0, time.UTC), 2 * time.Second},
		"clocks are put back":    {time.Date(2026, 10, 25, 0, 59, 59, 0, time.UTC), 2 * time.Second},
		"a leap second":          {time.Date(2016, 12, 31, 23, 59, 59, 900_000_000, time.UTC), -900 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := testenv.NewClock(c.start)
			k := newClocked(t, func() time.Time { return clock.Now().In(zone) })
			k.turn("over", func() { clock.Advance(c.jump) })
			// The host's own clock is months apart: it learns the broker's time when its first signature is refused.
			posts := k.webhook.log()
			if len(posts) > 0 && posts[0].status == http.StatusUnauthorized {
				posts = posts[1:]
			}
			for _, p := range posts {
				if p.status != http.StatusOK {
					t.Errorf("%s was answered %d", p.path, p.status)
				}
			}
			list := historyOf(t, k.client(), k.id)
			for i, at := range []time.Time{c.start, c.start, c.start.Add(c.jump)} {
				if got := list[i].CreatedAt; !got.Equal(at) || got.Location() != time.UTC {
					t.Errorf("message %d is of %v, want %v", i, got, at)
				}
			}
		})
	}
}
