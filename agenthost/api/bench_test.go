package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/protocol"
)

// The benchmark measures the delay of a line from the agent to the client, with a
// thousand WebSocket clients of one host, twenty for each session, and twenty lines
// a second for each client. Clients and host share the process and its cores.
func BenchmarkLinesToAThousandClients(b *testing.B) {
	const sessions, each, every, seconds = 50, 20, 50 * time.Millisecond, 5
	fake := &providertest.Fake{
		Play: func(ctx context.Context, _ agenthost.Prompt, out agenthost.Output) (agenthost.Outcome, error) {
			tick := time.NewTicker(every)
			defer tick.Stop()
			for range seconds * int(time.Second/every) {
				select {
				case <-ctx.Done():
				case <-tick.C:
				}
				if err := out.Text(strconv.FormatInt(time.Now().UnixNano(), 10)); err != nil {
					return agenthost.Outcome{}, err
				}
			}
			return agenthost.Outcome{}, nil
		},
	}
	host, err := app.OpenHost(app.HostConfig{
		Listen: "127.0.0.1:0", Password: seal.NewSecret(password), Data: b.TempDir(),
		Providers: map[string]agenthost.Provider{"demo": fake}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- host.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	for b.Loop() {
		report(b, runClients(b, host.URL, sessions, each))
	}
}

// runClients runs one turn in each session with clients and returns the delays.
func runClients(b *testing.B, base string, sessions, each int) []time.Duration {
	var mu sync.Mutex
	var delays []time.Duration
	var readers sync.WaitGroup
	for range sessions {
		id, token := openFor(b, base)
		for n := range each {
			conn, _, err := websocket.Dial(b.Context(), strings.Replace(base, "http", "ws", 1)+"/ws/"+id+"?token="+token, nil)
			if err != nil {
				b.Fatal(err)
			}
			if n == each-1 {
				if err := conn.Write(b.Context(), websocket.MessageText, []byte(`{"type":"input","text":"go"}`)); err != nil {
					b.Fatal(err)
				}
			}
			readers.Go(func() {
				got := drain(b, conn)
				mu.Lock()
				defer mu.Unlock()
				delays = append(delays, got...)
			})
		}
	}
	readers.Wait()
	return delays
}

func openFor(b *testing.B, base string) (id, token string) {
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, base+"/sessions", bytes.NewReader([]byte("{}")))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+password)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var opened agenthost.HeadlessResponse
	if err := json.NewDecoder(resp.Body).Decode(&opened); err != nil {
		b.Fatal(err)
	}
	return opened.SessionID, opened.Token
}

func drain(b *testing.B, conn *websocket.Conn) []time.Duration {
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(-1)
	var delays []time.Duration
	for {
		_, raw, err := conn.Read(b.Context())
		if err != nil {
			b.Error(err)
			return delays
		}
		now := time.Now()
		line, err := protocol.ParseLine(raw)
		switch {
		case err != nil:
			b.Error(err)
		case line.EndsTurn():
			return delays
		case line.Type == protocol.LineChunk:
			if sent, err := strconv.ParseInt(*line.Content, 10, 64); err == nil { // a single line instead of a replay of many
				delays = append(delays, now.Sub(time.Unix(0, sent)))
			}
		}
	}
}

func report(b *testing.B, delays []time.Duration) {
	slices.Sort(delays)
	if len(delays) == 0 {
		b.Fatal("no line came")
	}
	at := func(q float64) float64 { return delays[int(q*float64(len(delays)-1))].Seconds() * 1000 }
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
	b.ReportMetric(float64(len(delays)), "lines")
}
