//go:build full

package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/client"
	"bellhop/internal/app"
	"bellhop/internal/doctor"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// copyTree copies a data directory as an operator does.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s", err, out)
	}
}

// copiedHost copies the host's data while it runs, and returns a host on the copy, which is not started.
func (s *stack) copiedHost() *node {
	s.t.Helper()
	data, addr := filepath.Join(s.dir, "copy"), freeAddr(s.t)
	copyTree(s.t, s.hostData(), data)
	return newNode(s.t, "copy", "http://"+addr, []string{
		"BELLHOP_HOST_LISTEN=" + addr, "BELLHOP_HOST_PASSWORD=" + hostPassword, "BELLHOP_HOST_DATA=" + data,
	}, "host")
}

// copyShown returns where a second copy of the host runs, as the console shows it; "" = there is none.
func (s *stack) copyShown() string {
	s.t.Helper()
	var list struct{ Hosts []protocol.Host }
	s.call(http.MethodGet, "/api/hosts", &list)
	for _, h := range list.Hosts {
		if h.ID == s.hostID && h.Copy != nil {
			return h.Copy.Place
		}
	}
	return ""
}

func (s *stack) call(method, path string, out any) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.api+path, http.NoBody)
	testenv.Must(s.t, err)
	req.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := transport.RoundTrip(req)
	testenv.Must(s.t, err)
	defer func() { _ = resp.Body.Close() }()
	testenv.Must(s.t, json.NewDecoder(resp.Body).Decode(out))
}

// storedFinishes counts the finishes of a task that the broker has.
func (s *stack) storedFinishes(task string) (n int) {
	s.t.Helper()
	s.query(`SELECT count(*) FROM events WHERE type = 'finish' AND task_id = '`+task+`'`,
		func(r *sql.Rows) error { return r.Scan(&n) })
	return n
}

// statusOf returns the status of a host by its password.
func (s *stack) statusOf(host *node) (status agenthost.HostStatus) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, host.url+"/status", http.NoBody)
	testenv.Must(s.t, err)
	req.Header.Set("Authorization", "Bearer "+hostPassword)
	resp, err := transport.RoundTrip(req)
	testenv.Must(s.t, err)
	defer func() { _ = resp.Body.Close() }()
	testenv.Must(s.t, json.NewDecoder(resp.Body).Decode(&status))
	return status
}

// ofAnotherBoot makes records of running agents those of another machine.
func ofAnotherBoot(t *testing.T, data string) {
	t.Helper()
	records, err := filepath.Glob(filepath.Join(data, "processes", "*.json"))
	testenv.Must(t, err)
	for _, path := range records {
		var record map[string]any
		body, err := os.ReadFile(path)
		testenv.Must(t, err)
		testenv.Must(t, json.Unmarshal(body, &record))
		record["boot"] = "of another machine"
		body, err = json.Marshal(record)
		testenv.Must(t, err)
		testenv.Must(t, os.WriteFile(path, body, 0o600))
	}
	if len(records) == 0 {
		t.Fatal("no agent runs")
	}
}

// The copy ends its turns as those of a crashed host. The broker hears of it, and stores only what the original sends.
func TestAHostOnACopyOfALiveOnesDataEndsNothing(t *testing.T) {
	for name, there := range map[string]func(*testing.T, string){
		"on the same machine": func(*testing.T, string) {},
		"on another machine":  ofAnotherBoot,
	} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, kind storeKind) {
				s := newStack(t, kind)
				task := s.task("copied")
				stream := send(t, s.user(), task, "slow 60")
				var copied *node
				transcript := toEnd(t, stream, func(event client.Event, _ *client.Transcript) {
					if copied != nil || !isPart(event, protocol.PartTextDelta) {
						return
					}
					copied = s.copiedHost()
					data := filepath.Join(s.dir, "copy")
					there(t, data)
					copied.start()
					eventually(t, "the console shows two copies", func() bool { return strings.HasSuffix(s.copyShown(), ":"+data) })
					eventually(t, "the copy's status shows it", func() bool {
						return strings.Contains(strings.Join(s.statusOf(copied).Notices, "\n"), "two copies of host first")
					})
					s.expect(t, nil, doctor.Error, doctor.CheckHost, "two copies of host first")
					for _, n := range []*node{s.broker, copied} {
						if !strings.Contains(n.log.String(), "two copies of host first") {
							t.Errorf("the log of %s does not say it", n.name)
						}
					}
				})
				s.arrived(task)
				if got := transcript.End.FinishReason; got != protocol.FinishStop {
					t.Errorf("the stream ended with %q", got)
				}
				if end := s.endOf(task, stream.TurnID); end != "stop " {
					t.Errorf("the turn ended with %q", end)
				}
				if n := s.storedFinishes(task); n != 1 {
					t.Errorf("%d finishes are stored", n)
				}
				if left := s.statusOf(copied).Unacknowledged; left == 0 {
					t.Error("the copy has lost its events")
				}
			})
		})
	}
}

// While the broker cannot reach the host, it takes events of neither life. When it can, those of the original come.
func TestUntilTheHostCanBeAskedBothLivesWait(t *testing.T) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s := newStack(t, kind)
		task := s.task("waits")
		stream := send(t, s.user(), task, "slow 600")
		began(t, stream)
		copied := s.copiedHost()
		s.toHost.Set(refuse)
		s.host.kill()
		s.host.start()
		copied.start()
		for _, host := range []*node{s.host, copied} {
			eventually(t, "its events wait", func() bool {
				return strings.Contains(host.log.String(), "503 unavailable") && s.statusOf(host).Unacknowledged > 0
			})
		}
		if end := s.endOf(task, stream.TurnID); end != " " {
			t.Errorf("the turn ended with %q", end)
		}
		s.toHost.Set(pass)
		s.arrived(task)
		if end := s.endOf(task, stream.TurnID); end != "other host-restarted" {
			t.Errorf("the turn ended with %q", end)
		}
		if s.statusOf(copied).Unacknowledged == 0 {
			t.Error("events of the copy were taken")
		}
		if n := s.storedFinishes(task); n != 1 {
			t.Errorf("%d finishes are stored", n)
		}
	})
}

// The copy serves at the host's address after the original has ended: it is the host from then on.
func TestACopyTakesOverAtTheHostsAddress(t *testing.T) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s := newStack(t, kind)
		task := s.task("moved")
		stream := send(t, s.user(), task, "slow 600")
		began(t, stream)
		s.host.kill()
		copied := s.copiedHost()
		copied.env[0] = "BELLHOP_HOST_LISTEN=" + s.hostAddr
		copied.url = s.host.url
		copied.start()
		eventually(t, "the copy's events arrive", func() bool {
			return s.endOf(task, stream.TurnID) == "other host-restarted" && s.statusOf(copied).Unacknowledged == 0
		})
		if shown := s.copyShown(); shown != "" {
			t.Errorf("two copies are shown: %s", shown)
		}
	})
}

func TestDevOnACopyOfItsDataEndsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	original := startDev(t, filepath.Join(dir, "original"))
	c := client.New(original.file.BrokerURL, patient(original.file.APIToken, transport))
	task, err := c.CreateTask(t.Context(), &protocol.CreateTaskRequest{Title: "dev", Agent: "demo"})
	testenv.Must(t, err)
	stream := send(t, c, task.ID, "slow 50")
	started := false
	transcript := toEnd(t, stream, func(event client.Event, _ *client.Transcript) {
		if started || !isPart(event, protocol.PartTextDelta) {
			return
		}
		started = true
		copyTree(t, filepath.Join(dir, "original"), filepath.Join(dir, "copy"))
		copied := startDev(t, filepath.Join(dir, "copy"))
		eventually(t, "the copy is refused", func() bool { return strings.Contains(copied.log.String(), "two copies of host dev") })
	})
	if got := transcript.End.FinishReason; got != protocol.FinishStop {
		t.Errorf("the stream ended with %q", got)
	}
	settle(t, c, task.ID)
	turns := 0
	for m, err := range c.History(t.Context(), task.ID) {
		testenv.Must(t, err)
		if m.Role == protocol.RoleUser {
			turns++
		}
	}
	if turns != 1 {
		t.Errorf("%d messages of the user", turns)
	}
}

// dev is a running "bellhop dev".
type dev struct {
	*node
	file app.DevFile
}

func startDev(t *testing.T, data string) *dev {
	t.Helper()
	d := &dev{node: newNode(t, "dev", "", nil,
		"dev", "--data", data, "--listen", "127.0.0.1:0", "--host-listen", "127.0.0.1:0", "--no-sandbox")}
	path := filepath.Join(data, "dev.json")
	_ = os.Remove(path + ".before")
	before, _ := os.ReadFile(path)
	_, err := d.launch()
	testenv.Must(t, err)
	eventually(t, "dev is ready", func() bool {
		now, err := os.ReadFile(path)
		if err != nil || string(now) == string(before) || json.Unmarshal(now, &d.file) != nil {
			return false
		}
		d.url = d.file.BrokerURL
		return d.ready()
	})
	return d
}

// copiedBroker returns a broker on a copy of the stack's database, as it is now, at an address of its own. It is not started.
func (s *stack) copiedBroker() *node {
	s.t.Helper()
	s.broker.kill()
	addr := freeAddr(s.t)
	var url string
	if s.store == postgres {
		url = copyOfDatabase(s.t, s.dbURL)
	} else {
		dir := filepath.Join(s.dir, "copied")
		testenv.Must(s.t, os.Mkdir(dir, 0o700))
		copyFiles(s.t, s.dir, dir, database("broker.db")...)
		url = "sqlite:" + filepath.Join(dir, "broker.db")
	}
	s.broker.start()
	return newNode(s.t, "copied broker", "http://"+addr, []string{
		"BELLHOP_DATABASE_URL=" + url, "BELLHOP_KEYSET_FILE=" + s.keyset, "BELLHOP_LISTEN=" + addr,
	}, "serve")
}

// copyOfDatabase copies a database of PostgreSQL that nobody uses.
func copyOfDatabase(t testing.TB, dbURL string) string {
	t.Helper()
	u, err := url.Parse(dbURL)
	testenv.Must(t, err)
	name := strings.TrimPrefix(u.Path, "/")
	u.Path = "/postgres"
	db := openSQL(t, "pgx", u.String())
	eventually(t, "the database is copied", func() bool {
		_, err := db.ExecContext(t.Context(), `CREATE DATABASE "`+name+`_copy" TEMPLATE "`+name+`"`)
		return err == nil
	})
	t.Cleanup(func() {
		_, _ = db.ExecContext(context.WithoutCancel(t.Context()), `DROP DATABASE "`+name+`_copy" WITH (FORCE)`)
	})
	u.Path = "/" + name + "_copy"
	return u.String()
}

// A broker on a copy of the database knows the same sessions, keys and passwords. Hosts let it end and move nothing.
func TestABrokerOnACopyOfTheDatabaseEndsNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s := newStack(t, kind)
		idle, task := s.task("idle"), s.task("copied")
		toEnd(t, send(t, s.user(), idle, "hello"), nil)
		s.arrived(idle)
		copied := s.copiedBroker()
		stream := send(t, s.user(), task, "slow 60")
		there := client.New(copied.url, patient(s.token, transport))
		started := false
		transcript := toEnd(t, stream, func(event client.Event, _ *client.Transcript) {
			if started || !isPart(event, protocol.PartTextDelta) {
				return
			}
			started = true
			copied.start()
			if _, err := there.Send(t.Context(), &protocol.CheckInRequest{TaskID: idle, Message: "from the copy"}); err == nil {
				t.Error("the copy moved a session")
			}
			_, err := there.DeleteTask(t.Context(), idle, "")
			testenv.Must(t, err)
			eventually(t, "the host's status shows it", func() bool {
				return strings.Contains(strings.Join(s.statusOf(s.host).Notices, "\n"), "two copies of broker")
			})
			for _, n := range []*node{s.host, copied} {
				eventually(t, "its log says it", func() bool { return strings.Contains(n.log.String(), "two copies of broker") })
			}
		})
		if transcript.End.FinishReason != protocol.FinishStop {
			t.Errorf("the stream ended with %q", transcript.End.FinishReason)
		}
		if !strings.Contains(s.sessionsOfHost(), idle) {
			t.Error("the copy ended a session")
		}

		// Nobody is obeyed while the broker is away.
		s.broker.kill()
		waiting := strings.Count(copied.log.String(), "\n")
		eventually(t, "the copy goes on", func() bool { return strings.Count(copied.log.String(), "\n") >= waiting })
		if !strings.Contains(s.sessionsOfHost(), idle) {
			t.Error("the copy ended a session while the broker was away")
		}
		s.broker.start()
		toEnd(t, send(t, s.user(), idle, "still here"), nil)
		s.arrived(idle)

		// The copy serves at the broker's address: it is the broker from then on.
		s.broker.kill()
		copied.kill()
		copied.env = append(copied.env, "BELLHOP_LISTEN="+s.brokerAddr, "BELLHOP_WEBHOOK_URL=http://"+s.toBroker.Addr())
		copied.url = s.broker.url
		copied.start()
		eventually(t, "the host obeys it", func() bool { return !strings.Contains(s.sessionsOfHost(), idle) })
	})
}

// Two replicas on one database are one life.
func TestReplicasOfABrokerAreOneLife(t *testing.T) {
	t.Parallel()
	s := newStack(t, postgres)
	second := s.newBroker("second", freeAddr(t))
	second.start()
	task := s.task("replicas")
	for _, at := range []string{s.broker.url, second.url, s.broker.url} {
		toEnd(t, send(t, client.New(at, patient(s.token, transport)), task, "hello"), nil)
		s.arrived(task)
	}
	for _, n := range []*node{s.host, s.broker, second} {
		if strings.Contains(n.log.String(), "two copies") {
			t.Errorf("%s reports two copies", n.name)
		}
	}
}
