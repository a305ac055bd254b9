package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/crypto/seal"
	"bellhop/crypto/signature"
	"bellhop/protocol"
)

// One text event per transaction, many clients, a thousand tasks. The hosts of both variants sign,
// so that they differ only by the check.
func BenchmarkIngest(b *testing.B) {
	open := map[string]func(testing.TB) *store.Store{"sqlite": storetest.Open, "postgres": storetest.OpenPostgres}
	for _, name := range []string{"sqlite", "sqlite/signed", "postgres", "postgres/signed"} {
		database, _, signed := strings.Cut(name, "/")
		b.Run(name, func(b *testing.B) {
			st := open[database](b)
			user := &broker.User{ID: protocol.NewID(), Email: "a@example.org", CreatedAt: start}
			if err := st.CreateUser(b.Context(), user); err != nil {
				b.Fatal(err)
			}
			log := slog.New(slog.DiscardHandler)
			updater := &broker.Updater{Store: st, Now: time.Now}
			tasks := &broker.Tasks{Store: st, Updater: updater, Now: time.Now, Log: log}
			ingest := &broker.Ingest{Store: st, Updater: updater, Now: time.Now, Log: log}
			type line struct {
				id  string
				key signature.Key
				seq atomic.Int64
			}
			const clients, perClient = 32, 32
			lines := make([]*line, clients*perClient)
			for i := range lines {
				task, err := tasks.Create(b.Context(), broker.Caller{UserID: user.ID, Admin: true}, &protocol.CreateTaskRequest{
					Title: "x", AgentURL: "https://agent.example", AgentPassword: "agent-password",
				})
				if err != nil {
					b.Fatal(err)
				}
				key, err := signature.OfSession(seal.NewSecret("agent-password"), task.ID)
				if err == nil && signed {
					err = announceSigned(b.Context(), st, task.ID)
				}
				if err != nil {
					b.Fatal(err)
				}
				lines[i] = &line{id: task.ID, key: key}
			}
			var client atomic.Int64
			b.SetParallelism(clients / 2)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				mine := int(client.Add(1)-1) * perClient
				for i := 0; pb.Next(); i++ {
					l := lines[(mine+i%perClient)%len(lines)]
					seq := l.seq.Add(1)
					raw := json.RawMessage(`{"type":"text","eventId":"e` + strconv.FormatInt(seq, 10) + `","epoch":1,"seq":` +
						strconv.FormatInt(seq, 10) +
						`,"turnId":"t1","id":"t","text":"Some words of an answer that is neither short nor long.","timestamp":1767225600000}`)
					event, err := protocol.ParseEvent(raw)
					if err != nil {
						b.Error(err)
						return
					}
					header := http.Header{}
					err = signature.Sign(header, "evt_1", time.Now(), raw, l.key)
					if err == nil {
						err = ingest.CheckSignature(b.Context(), l.id, header, raw)
					}
					if err != nil {
						b.Error(err)
						return
					}
					if _, err := ingest.Ingest(b.Context(), l.id, "t1", []broker.Inbound{{Raw: raw, Event: event}}); err != nil {
						b.Error(fmt.Errorf("seq %d: %w", seq, err))
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

func announceSigned(ctx context.Context, st *store.Store, taskID string) error {
	return st.Write(ctx, func(ctx context.Context) error {
		task, err := st.LockTask(ctx, taskID)
		if err != nil {
			return err
		}
		task.HostSigns = true
		return st.Apply(ctx, &broker.Batch{Task: task})
	})
}
