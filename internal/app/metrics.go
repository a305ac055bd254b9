package app

import (
	"context"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus/collectors"

	"bellhop/agenthost"
	hostapi "bellhop/agenthost/api"
	"bellhop/broker"
	"bellhop/broker/api"
	"bellhop/internal/database"
	"bellhop/internal/diskspace"
	"bellhop/internal/metrics"
	"bellhop/protocol"
)

// newMetrics returns the metrics of the broker.
func (a *Admin) newMetrics() *metrics.Metrics {
	o := metrics.Options{
		Role: metrics.RoleBroker, Version: a.config.Version, Streams: api.StreamKinds(),
		Source: metrics.Source{
			{Name: "hosts", Read: a.readHosts},
			{Name: "deliveries", Read: a.readDeliveries},
			{Name: "disk", Read: readDisk(a.config.disk())},
		},
	}
	for name, pool := range a.db.Pools() {
		o.Collectors = append(o.Collectors, collectors.NewDBStatsCollector(pool, name))
	}
	return metrics.New(o)
}

func (a *Admin) readHosts(ctx context.Context, set metrics.Set) error {
	hosts, err := a.Store.Hosts(ctx)
	if err != nil {
		return err
	}
	count := map[broker.HostHealth]float64{
		broker.HostUnknown: 0, broker.HostOK: 0, broker.HostLowSpace: 0, broker.HostFull: 0, broker.HostUnreachable: 0,
	}
	for i := range hosts {
		if _, known := count[hosts[i].Health]; known {
			count[hosts[i].Health]++
		}
	}
	for health, n := range count {
		set("bellhop_hosts", n, string(health))
	}
	return nil
}

func (a *Admin) readDeliveries(ctx context.Context, set metrics.Set) error {
	backlog, err := a.deliveries.Backlog(ctx)
	if err != nil {
		return err
	}
	set("bellhop_webhook_deliveries", float64(backlog.Queued), "queued")
	set("bellhop_webhook_deliveries", float64(backlog.Held), "held")
	set("bellhop_webhook_oldest_seconds", age(backlog.Oldest, a.config.Now()))
	return nil
}

// newHostMetrics returns the metrics of an agent host. domain returns the host; it is called when the
// metrics are requested.
func (c HostConfig) newHostMetrics(disk diskspace.Monitor, domain func() *agenthost.Host) *metrics.Metrics {
	return metrics.New(metrics.Options{
		Role: metrics.RoleHost, Version: c.Version, Streams: hostapi.StreamKinds(),
		Source: metrics.Source{
			{
				Name: "sessions",
				Read: func(ctx context.Context, set metrics.Set) error { return readSessions(ctx, domain(), set) },
			},
			{Name: "outbox", Read: func(ctx context.Context, set metrics.Set) error { return readOutbox(ctx, domain(), set) }},
			{Name: "disk", Read: readDisk(disk)},
		},
	})
}

func readSessions(ctx context.Context, host *agenthost.Host, set metrics.Set) error {
	status, err := host.Status(ctx)
	if err != nil {
		return err
	}
	sessions := map[protocol.Status]float64{protocol.StatusNone: 0, protocol.StatusIdle: 0, protocol.StatusBusy: 0}
	outboxes := map[agenthost.OutboxState]float64{}
	for _, state := range agenthost.OutboxStates() {
		outboxes[state] = 0
	}
	for i := range status.Sessions {
		sessions[status.Sessions[i].Status]++
		outboxes[status.Sessions[i].Outbox]++
	}
	for name, n := range sessions {
		set("bellhop_sessions", n, string(name))
	}
	for state, n := range outboxes {
		set("bellhop_outbox_sessions", n, string(state))
	}
	set("bellhop_turns_open", float64(status.OpenTurns))
	set("bellhop_outbox_events", float64(status.Unacknowledged))
	set("bellhop_dead_letters", float64(len(status.DeadLetters)))
	return nil
}

func readOutbox(ctx context.Context, host *agenthost.Host, set metrics.Set) error {
	oldest, err := host.OldestPending(ctx)
	if err != nil {
		return err
	}
	set("bellhop_outbox_oldest_seconds", age(oldest, time.Now()))
	return nil
}

// readDisk reads nothing if the disk is not known.
func readDisk(disk diskspace.Monitor) func(context.Context, metrics.Set) error {
	return func(_ context.Context, set metrics.Set) error {
		if disk.Path == "" {
			return nil
		}
		space, err := disk.Space()
		if err != nil {
			return err
		}
		set("bellhop_disk_free_bytes", float64(space.FreeBytes))
		set("bellhop_disk_size_bytes", float64(space.TotalBytes))
		return nil
	}
}

// age returns the seconds since then, 0 for the zero time.
func age(then, now time.Time) float64 {
	if then.IsZero() {
		return 0
	}
	return max(0, now.Sub(then).Seconds())
}

// disk returns the disk of a database in a file; without a file nothing is measured.
func (c *BrokerConfig) disk() diskspace.Monitor {
	path := database.FilePath(c.DatabaseURL.Reveal())
	if path == "" {
		return diskspace.Monitor{}
	}
	return diskspace.Monitor{Path: filepath.Dir(path), WarnBelow: c.DiskWarning}
}
