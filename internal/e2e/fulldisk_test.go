//go:build full

package e2e

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/client"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/disk"
	"bellhop/protocol"
)

const smallDisk = 48 << 20

// statusOf is the status of a GET without credentials, 0 without an answer.
func statusOf(t testing.TB, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func (n *node) becomes(status int) {
	n.t.Helper()
	eventually(n.t,
		n.name+"'s readiness is "+http.StatusText(status), func() bool { return statusOf(n.t, n.url+"/readyz") == status })
}

// restartFull kills a node and starts it again while its disk is full.
func (n *node) restartFull(small *disk.Small) {
	n.t.Helper()
	n.kill()
	small.Fill() // a process that ended may have given room back
	if _, err := n.launch(); err != nil {
		n.t.Fatal(err)
	}
	eventually(n.t,
		n.name+" answers on a full disk", func() bool { return statusOf(n.t, n.url+"/healthz") == http.StatusOK })
	n.becomes(http.StatusInsufficientStorage)
}

// PROC-5, PROC-10: a host whose disk is full fails turns clearly, starts again on
// the full disk, serves reads, and continues by itself when there is room.
func TestAHostOnAFullDiskServesReadsAndRecovers(t *testing.T) {
	t.Parallel()
	if !disk.CanMount(t) {
		return
	}
	small := disk.NewSmall(t, smallDisk)
	s := prepareStackOn(t, small.Dir, postgres, testenv.Postgres(t, nil))
	s.host.start()
	s.broker.start()
	task := s.task("full")
	before, _ := s.recorded(t, task, "slow 4")
	s.arrived(task)

	stream, err := s.user().Send(t.Context(), &protocol.CheckInRequest{TaskID: task, Message: "slow 3000"})
	if err != nil {
		t.Fatal(err)
	}
	for event, err := range stream.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Part != nil {
			break
		}
	}
	small.Fill()
	s.host.becomes(http.StatusInsufficientStorage)
	for range 2 { // the second start finds what the first has left of the reserve
		s.host.restartFull(small)
		s.readsOf(task)
	}
	eventually(t, "the broker's list says so", func() bool { return s.health() == protocol.HostFull })

	small.Free()
	s.host.becomes(http.StatusOK)
	after, _ := s.recorded(t, task, "slow 5")
	s.arrived(task)
	got := stored(t, s.user(), task)
	if want := slices.Concat(before.Texts, after.Texts); !containsInOrder(got, want) {
		t.Errorf("stored are %q, want at least %q", got, want)
	}
	if end := s.endOf(task, stream.TurnID); end != "other host-restarted" && !strings.HasPrefix(end, "error ") {
		t.Errorf("the turn that met the full disk ended as %q", end)
	}
	eventually(t, "the broker's list says that room is low", func() bool { return s.health() == protocol.HostLowSpace })
}

// readsOf expects that the host serves what needs no room.
func (s *stack) readsOf(task string) {
	s.t.Helper()
	var events protocol.EventsResponse
	if status := s.askHost(http.MethodGet, "/session/"+task+"/events", &events); status != http.StatusOK ||
		len(events.Events) == 0 {
		s.t.Errorf("events: %d, %d of them", status, len(events.Events))
	}
	var status struct {
		Notices []string `json:"notices"`
		Disk    struct {
			Low bool `json:"low"`
		} `json:"disk"`
	}
	if code := s.askHost(http.MethodGet, "/status", &status); code != http.StatusOK || !status.Disk.Low ||
		len(status.Notices) == 0 {
		s.t.Errorf("status: %d, %+v", code, status)
	}
}

// health is what the broker's list says about the host.
func (s *stack) health() protocol.HostHealth {
	s.t.Helper()
	for _, line := range strings.Split(s.administer("hosts", "list"), "\n") {
		fields := strings.Fields(line)
		if len(fields) > 4 && fields[0] == s.hostID { // ID, NAME, URL, REACH, HEALTH
			return protocol.HostHealth(fields[4])
		}
	}
	return ""
}

func containsInOrder(all, some []string) bool {
	for _, one := range some {
		at := slices.Index(all, one)
		if at < 0 {
			return false
		}
		all = all[at+1:]
	}
	return true
}

// fillByCheckIns sends messages until one is refused, and returns that error.
func fillByCheckIns(t testing.TB, c *client.Client, task string) error {
	t.Helper()
	for range 200 {
		_, err := c.CheckIn(t.Context(), &protocol.CheckInRequest{TaskID: task, Message: strings.Repeat("x", 256<<10)})
		if err != nil {
			return err
		}
	}
	return nil
}

// PROC-10 for the broker on SQLite.
func TestABrokerOnAFullDiskServesReadsAndRecovers(t *testing.T) {
	t.Parallel()
	if !disk.CanMount(t) {
		return
	}
	small := disk.NewSmall(t, smallDisk)
	s := prepareStackOn(t, t.TempDir(), sqlite, "sqlite:"+filepath.Join(small.Dir, "broker.db"))
	s.host.start()
	s.broker.start()
	task := s.task("full")
	before, _ := s.recorded(t, task, "slow 4")
	eventually(t, "the turn is stored", func() bool { return slices.Equal(stored(t, s.user(), task), before.Texts) })

	small.Fill()
	once := client.New(s.api, client.Options{Token: s.token, HTTP: &http.Client{Transport: transport}, Attempts: 1})
	if err := fillByCheckIns(t, once, task); protocol.CodeOf(err) != protocol.CodeStorageFull {
		t.Errorf("a message on a full disk: %v", err)
	}
	s.broker.becomes(http.StatusInsufficientStorage)
	for range 2 {
		s.broker.restartFull(small)
		if got := stored(t, once, task); !slices.Equal(got, before.Texts) {
			t.Errorf("read on a full disk: %q", got)
		}
	}
	small.Free()
	s.broker.becomes(http.StatusOK)
	after, _ := s.recorded(t, task, "slow 5")
	eventually(t, "the next turn is stored", func() bool {
		return containsInOrder(stored(t, s.user(), task), slices.Concat(before.Texts, after.Texts))
	})
}

// PROC-10 for a PostgreSQL whose disk fills up.
func TestAFullDiskOfPostgreSQLIsStorageFull(t *testing.T) {
	t.Parallel()
	if !disk.CanMount(t) {
		return
	}
	small := disk.NewSmall(t, 160<<20)
	server := testenv.PostgresServerIn(t, small.Dir)
	s := prepareStackOn(t, t.TempDir(), postgres, server.URL())
	s.host.start()
	s.broker.start()
	task := s.task("full")
	before, _ := s.recorded(t, task, "slow 4")
	s.arrived(task)

	small.Fill()
	once := client.New(s.api, client.Options{Token: s.token, HTTP: &http.Client{Transport: transport}, Attempts: 1})
	if err := fillByCheckIns(t, once, task); protocol.CodeOf(err) != protocol.CodeStorageFull {
		t.Errorf("a message on a full disk: %v", err)
	}
	if got := stored(t, once, task); !slices.Equal(got, before.Texts) {
		t.Errorf("read on a full disk: %q", got)
	}
	small.Free()
	after, _ := s.recorded(t, task, "slow 5")
	eventually(t, "the next turn is stored", func() bool {
		return containsInOrder(stored(t, s.user(), task), slices.Concat(before.Texts, after.Texts))
	})
}
