//go:build full

package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/crypto/seal"
	"bellhop/crypto/signature"
	"bellhop/crypto/token"
	"bellhop/internal/app"
	"bellhop/protocol"
)

// A program posts an event with a stolen token of the webhook: the host signs, so it is refused. Even
// with the agent password, neither an epoch that the host has not begun, nor the next position of the
// present one, costs the session a later event. The host never shows ok before the broker has them.
func TestAForgedEventLosesNoEventOfTheSession(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		signed bool
		beyond protocol.Cursor // of the forged event, after the task's cursor
		status int
		epoch  int64 // of the task at the end
	}{
		{"without a signature", false, protocol.Cursor{Seq: 1}, http.StatusUnauthorized, 1},
		{"of an epoch that the host has not begun", true, protocol.Cursor{Epoch: 98}, http.StatusConflict, 1},
		{"at the next position", true, protocol.Cursor{Seq: 1}, http.StatusOK, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := withUser(t, runBroker(t, app.BrokerConfig{StoreConfig: app.StoreConfig{
				DatabaseURL: seal.NewSecret("sqlite:" + filepath.Join(t.TempDir(), "broker.db")), Keyset: newKeyset(t),
			}}))
			host := runHost(t, &providertest.Fake{})
			task, user := b.task(t, host.URL, ""), b.client()
			delivered := func() bool { return shownOK(t, host) }
			turnOf(t, user, task, "text one\nend")
			eventually(t, "the first turn is delivered", delivered)

			at := b.cursorOf(t, task)
			if c.beyond.Epoch > 0 {
				at = protocol.Cursor{Epoch: at.Epoch + c.beyond.Epoch}
			}
			at.Seq++
			if status := forge(t, b, task, at, c.signed); status != c.status {
				t.Errorf("the forged event was answered %d, want %d", status, c.status)
			}
			turnOf(t, user, task, "text two\nend")
			turnOf(t, user, task, "text three\nend")
			eventually(t, "the later turns are delivered", delivered)

			var texts []string
			for _, m := range historyOf(t, user, task) {
				if m.Role == protocol.RoleAssistant && m.Message != "forged" {
					texts = append(texts, m.Message)
				}
			}
			if want := []string{"one", "two", "three"}; !slices.Equal(texts, want) {
				t.Errorf("stored are %q, want %q", texts, want)
			}
			if end := b.cursorOf(t, task); end.Epoch != c.epoch {
				t.Errorf("the task is at %v, want epoch %d", end, c.epoch)
			}
		})
	}
}

func (r *running) cursorOf(t *testing.T, task string) protocol.Cursor {
	t.Helper()
	cursors, err := r.Store.Cursors(t.Context(), []string{task})
	if err != nil {
		t.Fatal(err)
	}
	return cursors[task]
}

// shownOK reports that the host's status shows ok, and checks that it does so only without
// unacknowledged events.
func shownOK(t *testing.T, host *app.Host) bool {
	t.Helper()
	status, err := host.Domain.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range status.Sessions {
		if s.Outbox == agenthost.OutboxOK &&
			(s.Unacknowledged > 0 || s.Acknowledged != s.Cursor && s.Acknowledged.Epoch == s.Cursor.Epoch) {
			t.Errorf("ok is shown at %v, acknowledged is %v", s.Cursor, s.Acknowledged)
		}
		if s.Outbox != agenthost.OutboxOK {
			return false
		}
	}
	return len(status.DeadLetters) == 0
}

// forge posts a text with a token that the broker accepts.
func forge(t *testing.T, b *running, task string, at protocol.Cursor, withSignature bool) int {
	t.Helper()
	secret, err := b.Store.WebhookSecret(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	signed, _, err := token.SignWebhook([]byte(secret.Reveal()), task, "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"sessionId":%q,"type":"text","id":"f","text":"forged","eventId":"forged","epoch":%d,"seq":%d,"timestamp":1}`, task, at.Epoch, at.Seq)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		b.URL+"/api/agent/webhook?"+url.Values{"token": {signed}}.Encode(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if withSignature {
		key, err := signature.OfSession(seal.NewSecret(hostPassword), task)
		if err == nil {
			err = signature.Sign(req.Header, "evt_forged", time.Now(), []byte(body), key)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
