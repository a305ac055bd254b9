package database_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/testenv/schema"
	"bellhop/protocol"
)

const (
	ingestClients = 32
	ingestTasks   = 8  // of each client
	ingestEvents  = 64 // of each client in a block
)

// ingester stores events of its own tasks, with its own connections.
type ingester struct {
	domain    *broker.Ingest
	tasks     []string
	seq       int64 // of every task
	isBounded bool
	event     func(b *testing.B, seq int64) *broker.Inbound
	request   func(ctx context.Context, taskID string, event *broker.Inbound) error
}

// cost is what a block took for an event.
type cost struct{ cpu, elapsed time.Duration }

// BenchmarkIngestIsBounded compares ingest on PostgreSQL with and without the time limits of waits:
// deadline, budget, breaker and limit of reads. One operation is three short blocks in turns: without
// them, with them, and without them once more. ratio is that of the second to the mean of the others,
// chance that of the third to the first. Both are medians over the operations. Those of the CPU time
// of this process hold on a busy machine too.
func BenchmarkIngestIsBounded(b *testing.B) {
	url := schema.Postgres(b)
	sealer := storetest.Sealer(b)
	all := [3]*ingester{
		newIngester(b, database.OpenUnbounded(b, url), sealer, false),
		newIngester(b, schema.Open(b, url, database.PoolerNone), sealer, true),
		newIngester(b, database.OpenUnbounded(b, url), sealer, false),
	}
	compare(b, all[0].block, all[1].block, all[2].block)
}

// BenchmarkIngestWithAudit compares ingest on PostgreSQL with and without rows of the audit log, in the same way: of
// eight events of a task, one is the answer to a question. With rows a person has answered, otherwise a rule has.
func BenchmarkIngestWithAudit(b *testing.B) {
	url, sealer := schema.Postgres(b), storetest.Sealer(b)
	var all [3]*ingester
	for i, by := range []string{"", protocol.ByLocal, ""} {
		all[i] = newIngester(b, schema.Open(b, url, database.PoolerNone), sealer, true)
		all[i].event = func(b *testing.B, seq int64) *broker.Inbound { return turnEvent(b, seq, by) }
	}
	compare(b, all[0].block, all[1].block, all[2].block)
	var rows int64
	audit := schema.Open(b, url, database.PoolerNone).Conn(b.Context()).Table("audit_log")
	if err := audit.Where("action = ?", protocol.AuditTaskAnswered).Count(&rows).Error; err != nil {
		b.Fatal(err)
	}
	if want := all[1].seq / 8 * int64(len(all[1].tasks)); rows != want {
		b.Errorf("%d rows of the audit log, not %d", rows, want)
	}
}

// compare reports what the second kind of block costs beside the other two, which do the same.
func compare(b *testing.B, all ...func(*testing.B) cost) {
	b.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as in the program
	for _, block := range all {
		block(b) // opens the connections
	}
	var rounds [][3]cost
	for n := 0; b.Loop(); n++ {
		var round [3]cost
		for i := range all { // each of them comes first, second and third in turns
			i = (i + n) % len(all)
			round[i] = all[i](b)
		}
		rounds = append(rounds, round)
	}
	report := func(name string, of func(cost) time.Duration) {
		value := func(r [3]cost, i int) float64 { return float64(of(r[i])) }
		bare := func(r [3]cost) float64 { return (value(r, 0) + value(r, 2)) / 2 }
		b.ReportMetric(median(rounds, func(r [3]cost) float64 { return value(r, 1) / bare(r) }), name+"-ratio")
		b.ReportMetric(median(rounds, func(r [3]cost) float64 { return value(r, 2) / value(r, 0) }), name+"-chance")
		b.ReportMetric(median(rounds, bare)/1000, name+"-bare-µs/event")
		b.ReportMetric(median(rounds, func(r [3]cost) float64 { return value(r, 1) - bare(r) })/1000, name+"-more-µs/event")
	}
	report("cpu", func(c cost) time.Duration { return c.cpu })
	report("time", func(c cost) time.Duration { return c.elapsed })
}

func newIngester(b *testing.B, db *database.DB, sealer *seal.Sealer, isBounded bool) *ingester {
	b.Helper()
	st, log := store.New(db, sealer), slog.New(slog.DiscardHandler)
	user := &broker.User{ID: protocol.NewID(), Email: protocol.NewID() + "@example.org", CreatedAt: time.Now()}
	if err := st.CreateUser(b.Context(), user); err != nil {
		b.Fatal(err)
	}
	updater := &broker.Updater{Store: st, Now: time.Now}
	tasks := &broker.Tasks{Store: st, Updater: updater, Now: time.Now, Log: log}
	in := &ingester{
		domain:    &broker.Ingest{Store: st, Updater: updater, Now: time.Now, Log: log},
		isBounded: isBounded, event: textEvent,
	}
	in.request = in.store
	for range ingestClients * ingestTasks {
		task, err := tasks.Create(b.Context(), broker.Caller{UserID: user.ID, Admin: true}, &protocol.CreateTaskRequest{
			Title: "x", AgentURL: "https://agent.example", AgentPassword: "agent-password",
		})
		if err != nil {
			b.Fatal(err)
		}
		in.tasks = append(in.tasks, task.ID)
	}
	return in
}

// block stores the same number of events for each client, one in a request.
func (in *ingester) block(b *testing.B) cost {
	b.Helper()
	requests := make([][]*broker.Inbound, ingestClients)
	for client := range requests {
		for i := range ingestEvents {
			requests[client] = append(requests[client], in.event(b, in.seq+int64(i/ingestTasks)+1))
		}
	}
	in.seq += ingestEvents / ingestTasks
	var clients sync.WaitGroup
	start, before := time.Now(), usedCPU(b)
	for client, mine := range requests {
		clients.Go(func() {
			for i, event := range mine {
				if err := in.request(b.Context(), in.tasks[client*ingestTasks+i%ingestTasks], event); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
	const events = ingestClients * ingestEvents
	return cost{cpu: (usedCPU(b) - before) / events, elapsed: time.Since(start) / events}
}

// store is a request without HTTP.
func (in *ingester) store(ctx context.Context, taskID string, event *broker.Inbound) error {
	ctx, cancel := context.WithCancel(ctx) // as the context of an HTTP request
	defer cancel()
	if in.isBounded {
		ctx = database.WithBudget(ctx, 5*time.Second)
	}
	answer, err := in.domain.Ingest(ctx, taskID, "t1", []broker.Inbound{*event})
	if err == nil && answer.Accepted != 1 {
		err = fmt.Errorf("accepted %d events", answer.Accepted)
	}
	return err
}

func textEvent(b *testing.B, seq int64) *broker.Inbound {
	b.Helper()
	return received(b, "text", seq, `"id":"t","text":"Some words of an answer that is neither short nor long."`)
}

// turnEvent returns the question, the answer or one of the texts of a turn of eight events.
func turnEvent(b *testing.B, seq int64, by string) *broker.Inbound {
	b.Helper()
	question := `"kind":"confirm","interactionId":"q` + strconv.FormatInt(seq/8, 10) + `","prompt":"Run it?",` +
		`"toolName":"bash","toolCallId":"c","level":"LOW","args":{"command":"go test ./..."},"state":`
	switch seq % 8 {
	case 3:
		return received(b, "interaction", seq, question+`"open"`)
	case 4:
		return received(b, "interaction", seq, question+`"resolved","answer":{"approved":true,"by":"`+by+`"}`)
	}
	return textEvent(b, seq)
}

func received(b *testing.B, kind string, seq int64, fields string) *broker.Inbound {
	b.Helper()
	n := strconv.FormatInt(seq, 10)
	raw := json.RawMessage(`{"type":"` + kind + `","eventId":"e` + n + `","epoch":1,"seq":` + n + `,"turnId":"t1",` +
		fields + `,"timestamp":1767225600000}`)
	event, err := protocol.ParseEvent(raw)
	if err != nil {
		b.Fatal(err)
	}
	return &broker.Inbound{Raw: raw, Event: event}
}

func usedCPU(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func median(rounds [][3]cost, of func([3]cost) float64) float64 {
	values := make([]float64, len(rounds))
	for i, r := range rounds {
		values[i] = of(r)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
