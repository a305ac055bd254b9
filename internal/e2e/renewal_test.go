//go:build full

package e2e

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"bellhop/agenthost/provider/providertest"
	"bellhop/client"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

func TestATurnMayBeLongerThanItsWebhookToken(t *testing.T) {
	t.Parallel()
	clock := testenv.NewClock(time.Now())
	webhook, through := newPassage(t)
	b := withUser(t, runBroker(t, app.BrokerConfig{
		StoreConfig: app.StoreConfig{
			DatabaseURL: seal.NewSecret("sqlite:" + filepath.Join(t.TempDir(), "broker.db")), Keyset: newKeyset(t),
		},
		WebhookURL: webhook.URL, Now: clock.Now,
	}))
	through(b.URL)
	fake := &providertest.Fake{}
	host := runHost(t, fake)
	task, c := b.task(t, host.URL, ""), b.client()

	const prompt = "text before\nend\nwait later\ntext after\nend"
	toEnd(t, send(t, c, task, prompt), func(event client.Event, read *client.Transcript) {
		if isPart(event, protocol.PartTextEnd) && len(read.Blocks) == 1 {
			eventually(t, "the first text is stored", func() bool { return len(messagesOf(t, c, task)) == 2 })
			clock.Advance(11 * time.Minute)
			fake.Release("later")
		}
	})
	var texts []string
	for _, m := range historyOf(t, c, task) {
		texts = append(texts, m.Message)
	}
	if want := []string{prompt, "before", "after"}; !slices.Equal(texts, want) {
		t.Errorf("stored are %q, want %q", texts, want)
	}
	// The broker may pull the last events before the host's request is answered.
	eventually(t, "an expired token, its renewal, and the events behind it pass the webhook", func() bool {
		seen := webhook.log()
		expired := slices.Index(seen, passed{"/api/agent/webhook", 401})
		renewed := slices.Index(seen, passed{"/api/agent/webhook/renew", 200})
		return 0 <= expired && expired < renewed && slices.Contains(seen[renewed:], passed{"/api/agent/webhook", 200})
	})
}
