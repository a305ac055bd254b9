package app

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store/storetest"
	"bellhop/internal/diskspace"
	"bellhop/internal/metrics"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
)

// readings returns what a part of the metrics sets, by family and label.
func readings(t *testing.T, read func(context.Context, metrics.Set) error) map[string]float64 {
	t.Helper()
	got := map[string]float64{}
	err := read(t.Context(), func(family string, value float64, values ...string) {
		got[strings.TrimSpace(family+" "+strings.Join(values, " "))] = value
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// queues is a store of deliveries of which only the backlog is known.
type queues struct {
	outbound.Store
	backlog outbound.Backlog
}

func (q queues) Backlog(context.Context) (outbound.Backlog, error) { return q.backlog, nil }

func TestTheBacklogOfWebhooksIsShown(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, c := range []struct {
		name              string
		backlog           outbound.Backlog
		queued, held, age float64
	}{
		{name: "nothing"},
		{"some wait", outbound.Backlog{Queued: 7, Held: 3, Oldest: now.Add(-90 * time.Second)}, 7, 3, 90},
		{"a clock that went back", outbound.Backlog{Queued: 1, Oldest: now.Add(time.Minute)}, 1, 0, 0},
	} {
		a := &Admin{
			config:     BrokerConfig{Now: func() time.Time { return now }},
			deliveries: outbound.New(outbound.Options{Store: queues{backlog: c.backlog}}),
		}
		got := readings(t, a.readDeliveries)
		want := map[string]float64{
			"bellhop_webhook_deliveries queued": c.queued, "bellhop_webhook_deliveries held": c.held,
			"bellhop_webhook_oldest_seconds": c.age,
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", c.name, got, want)
		}
	}
}

func TestHostsAreShownByTheirHealth(t *testing.T) {
	t.Parallel()
	a := &Admin{Store: storetest.Open(t)}
	healths := []broker.HostHealth{broker.HostOK, broker.HostFull, broker.HostOK, broker.HostUnreachable}
	for i, health := range healths {
		err := a.Store.CreateHost(t.Context(), &broker.Host{
			ID: protocol.NewID(), Name: fmt.Sprint(i), URL: "https://host.example", Health: health, CreatedAt: time.Now(),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := readings(t, a.readHosts)
	want := map[string]float64{
		"bellhop_hosts " + string(broker.HostOK): 2, "bellhop_hosts " + string(broker.HostFull): 1,
		"bellhop_hosts " + string(broker.HostUnreachable): 1, "bellhop_hosts " + string(broker.HostLowSpace): 0,
		"bellhop_hosts " + string(broker.HostUnknown): 0,
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A broker on PostgreSQL does not know the disk of its database.
func TestOnlyAKnownDiskIsShown(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{"": 0, t.TempDir(): 2} {
		got := readings(t, readDisk(diskspace.Monitor{Path: path}))
		if len(got) != want || want > 0 && (got["bellhop_disk_size_bytes"] < got["bellhop_disk_free_bytes"] ||
			got["bellhop_disk_free_bytes"] == 0) {
			t.Errorf("%q: %v", path, got)
		}
	}
}
