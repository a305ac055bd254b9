package broker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

func TestCreateTask(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	guest := k.newUser("guest@example.org", false)
	k.tasks.CheckURL = func(url string) error {
		if strings.Contains(url, "10.0.0.1") {
			return errors.New("private address")
		}
		return nil
	}
	cases := []struct {
		rule   string
		caller broker.Caller
		req    protocol.CreateTaskRequest
		want   string
	}{
		{
			"a title is required", k.user,
			protocol.CreateTaskRequest{Title: "  "},
			`{'code':'invalid','error':'title is required'}`,
		},
		{
			"a title has a limit", k.user,
			protocol.CreateTaskRequest{Title: strings.Repeat("é", 501)},
			`{'code':'invalid','error':'title is longer than 500 characters'}`,
		},
		{
			"modes are two", k.user,
			protocol.CreateTaskRequest{Title: "x", Mode: "robot"},
			`{'code':'invalid','error':'mode must be agent or chat'}`,
		},
		{
			"one place is enough", k.user,
			protocol.CreateTaskRequest{Title: "x", HostID: "h", AgentURL: "https://a.example"},
			`{'code':'invalid','error':'hostId and agentUrl exclude each other'}`,
		},
		{
			"an unknown host", k.user,
			protocol.CreateTaskRequest{Title: "x", HostID: "h"},
			`{'code':'invalid','error':'hostId names no registered host'}`,
		},
		{
			"not a URL", k.user,
			protocol.CreateTaskRequest{Title: "x", AgentURL: "ftp://a.example"},
			`{'code':'invalid','error':'agentUrl must be an http or https URL without user, query and fragment'}`,
		},
		{
			"a URL with a user", k.user,
			protocol.CreateTaskRequest{Title: "x", AgentURL: "https://u:p@a.example"},
			`{'code':'invalid','error':'agentUrl must be an http or https URL without user, query and fragment'}`,
		},
		{
			"the guard stops a guest", guest,
			protocol.CreateTaskRequest{Title: "x", AgentURL: "http://10.0.0.1"},
			`{'code':'invalid','error':'agentUrl is not allowed','hint':'private addresses need an administrator, or a registered host'}`,
		},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			_, err := k.tasks.Create(k.ctx, c.caller, &c.req)
			same(t, fault(err), c.want)
		})
	}
	for _, c := range []struct {
		rule    string
		caller  broker.Caller
		url     string
		guarded bool
	}{
		{"an administrator's URL is exempt from the guard", k.user, "http://10.0.0.1", false},
		{"a guest's URL is dialled through the guard", guest, "https://a.example", true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			task, err := k.tasks.Create(k.ctx, c.caller, &protocol.CreateTaskRequest{
				Title: "x", AgentURL: c.url, AgentPassword: "p",
			})
			k.must(err)
			_, err = k.sessions.Attach(k.ctx, c.caller.UserID, &protocol.AttachRequest{TaskID: task.ID})
			k.must(err)
			if got := k.host.targets[len(k.host.targets)-1].Guarded; got != c.guarded {
				t.Errorf("guarded: %t", got)
			}
		})
	}
	t.Run("without host and URL there is only the default agent", func(t *testing.T) {
		task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{Title: " New "})
		k.must(err)
		same(t, task, `{'id':'`+task.ID+`','title':'New','mode':'agent','agent':'demo','project':'','hostId':'','agentUrl':'','agentStatus':'none',
			'reason':'','openTurn':null,'lastTurn':null,'openInteractions':0,'readRev':0,'rev':0,'archived':false,
			'createdAt':'2026-03-04T05:06:07.000891Z','lastActivityAt':'2026-03-04T05:06:07.000891Z'}`)
	})
}

func TestPlacement(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		hosts := map[string]string{}
		for _, name := range []string{"a", "b", "dead"} {
			host, err := k.hosts.Create(k.ctx, k.user, &broker.HostRequest{
				Name: name, URL: "https://" + name + ".example/", Password: "pw-" + name,
			})
			k.must(err)
			hosts[name] = host.ID
		}
		k.host.onReady = func(target broker.Target) error {
			if target.URL == "https://dead.example" {
				return errors.New("refused")
			}
			return nil
		}
		k.hosts.Probe(k.ctx)
		counts := map[string]int{}
		for i := range 4 { // each one gets an open turn, so the hosts alternate
			task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{Title: fmt.Sprint(i)})
			k.must(err)
			counts[task.HostID]++
			k.checkIn(task.ID, "go")
		}
		if counts[hosts["a"]] != 2 || counts[hosts["b"]] != 2 {
			t.Errorf("placed %v", counts)
		}
		if got := k.host.lastPasswords(); len(got) != 1 || !strings.HasPrefix(got[0], "pw-") {
			t.Errorf("passwords %q", got)
		}
		list, err := k.hosts.List(k.ctx, k.user)
		k.must(err)
		same(t, list, `[
			{'id':'`+hosts["a"]+`','name':'a','url':'https://a.example','health':'ok','reach':'direct','openTurns':2,'createdAt':'2026-03-04T05:06:07.000891Z'},
			{'id':'`+hosts["b"]+`','name':'b','url':'https://b.example','health':'ok','reach':'direct','openTurns':2,'createdAt':'2026-03-04T05:06:07.000891Z'},
			{'id':'`+hosts["dead"]+`','name':'dead','url':'https://dead.example','health':'unreachable','reach':'direct','openTurns':0,'createdAt':'2026-03-04T05:06:07.000891Z'}]`)
	})
}

// A full host starts no turn; one with little room is used when there is no other.
func TestHostsAreChosenByTheRoomOnTheirDisks(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	create := func(name string) string {
		host, err := k.hosts.Create(k.ctx, k.user, &broker.HostRequest{
			Name: name, URL: "https://" + name + ".example", Password: "pw",
		})
		k.must(err)
		return host.ID
	}
	a := create("a")
	k.host.onReady = func(broker.Target) error { return nil }
	for _, step := range []struct {
		health broker.HostHealth
		want   string
	}{{broker.HostFull, ""}, {broker.HostLowSpace, a}, {broker.HostOK, a}} {
		k.host.health = step.health
		k.hosts.Probe(k.ctx)
		task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{Title: "x"})
		k.must(err)
		if task.HostID != step.want {
			t.Errorf("%s: placed on %q", step.health, task.HostID)
		}
	}
	b := create("b")
	k.must(k.store.SetHostHealth(k.ctx, a, broker.HostLowSpace, false, "", start))
	k.must(k.store.SetHostHealth(k.ctx, b, broker.HostOK, false, "", start))
	for range 3 {
		task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{Title: "x"})
		k.must(err)
		k.checkIn(task.ID, "go")
		if task.HostID != b {
			t.Error("a host with little room was preferred")
		}
	}
}

// A host that named an answer once is asked as one whose unnamed answers count nothing, until its URL is set again.
func TestAHostThatNamesItsAnswersIsHeldToIt(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		id := k.register("a")
		var asked []bool
		k.host.onReady = func(to broker.Target) error {
			asked = append(asked, to.Names)
			return nil
		}
		probe := func(want bool) {
			t.Helper()
			k.hosts.Probe(k.ctx)
			if got := asked[len(asked)-1]; got != want {
				t.Errorf("the probe wants a named answer: %t", got)
			}
			host, err := k.store.Host(k.ctx, id)
			k.must(err)
			if got := k.targets.OfHost(host).Names; got != (want || k.host.names) {
				t.Errorf("other calls want a named answer: %t", got)
			}
		}
		probe(false)
		k.host.names = true
		probe(false)
		k.host.names = false // as when a proxy answers
		probe(true)
		name := "renamed"
		_, err := k.hosts.Update(k.ctx, k.user, id, broker.HostPatch{Name: &name})
		k.must(err)
		probe(true)
		host, err := k.store.Host(k.ctx, id)
		k.must(err)
		_, err = k.hosts.Update(k.ctx, k.user, id, broker.HostPatch{URL: &host.URL})
		k.must(err)
		probe(false)
	})
}

// A broker that starts before its host, or during its upgrade, must not make
// tasks that never work.
func TestATaskCreatedWithoutAReachableHostIsPlacedAtItsCheckIn(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	host, err := k.hosts.Create(k.ctx, k.user, &broker.HostRequest{Name: "a", URL: "https://a.example", Password: "pw"})
	k.must(err)
	k.host.onReady = func(broker.Target) error { return errors.New("refused") }
	k.hosts.Probe(k.ctx)
	task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{Title: "early"})
	k.must(err)
	_, err = k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{TaskID: task.ID, Message: "x"})
	same(t, fault(err),
		`{'code':'invalid','error':'Agent URL not configured','hint':'No agent host can be reached; register one, or give the task an agentUrl'}`)

	k.host.onReady = func(broker.Target) error { return nil }
	k.hosts.Probe(k.ctx)
	reads := &taskReads{SessionStore: k.store}
	k.sessions.Store = reads
	k.checkIn(task.ID, "x")
	if got := k.get(task.ID).HostID; task.HostID != "" || got != host.ID {
		t.Errorf("placed on %q, then on %q", task.HostID, got)
	}
	if reads.n != 1 {
		t.Errorf("the check-in read its task %d times", reads.n)
	}
}

// taskReads counts the reads of tasks.
type taskReads struct {
	broker.SessionStore
	n int
}

func (r *taskReads) OpenableTask(
	ctx context.Context, userID, id string, now time.Time,
) (*broker.OpenableTask, error) {
	r.n++
	return r.SessionStore.OpenableTask(ctx, userID, id, now)
}

func TestHosts(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	guest := k.newUser("guest@example.org", false)
	forbidden := `{'code':'forbidden','error':'Only administrators manage hosts'}`
	_, err := k.hosts.List(k.ctx, guest)
	same(t, fault(err), forbidden)
	_, err = k.hosts.Create(k.ctx, guest, &broker.HostRequest{})
	same(t, fault(err), forbidden)
	_, err = k.hosts.Update(k.ctx, guest, "x", broker.HostPatch{})
	same(t, fault(err), forbidden)
	same(t, fault(k.hosts.Delete(k.ctx, guest, "x", true)), forbidden)

	host, err := k.hosts.Create(k.ctx, k.user, &broker.HostRequest{
		Name: "one", URL: "https://one.example", Password: "old",
	})
	k.must(err)
	_, err = k.hosts.Create(k.ctx, k.user, &broker.HostRequest{Name: "one", URL: "https://two.example", Password: "p"})
	same(t, fault(err), `{'code':'conflict','error':'Host already exists'}`)
	_, err = k.hosts.Create(k.ctx, k.user, &broker.HostRequest{Name: "two", URL: "https://two.example"})
	same(t, fault(err), `{'code':'invalid','error':'password is required'}`)

	task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{Title: "x", HostID: host.ID})
	k.must(err)
	fresh := "new"
	_, err = k.hosts.Update(k.ctx, k.user, host.ID, broker.HostPatch{Password: &fresh})
	k.must(err)
	k.checkIn(task.ID, "x")
	same(t, k.host.lastPasswords(), `['new','old']`)
	k.clock.Advance(24 * time.Hour)
	k.checkIn(task.ID, "y")
	same(t, k.host.lastPasswords(), `['new']`)

	same(t, fault(k.hosts.Delete(k.ctx, k.user, host.ID, true)),
		`{'code':'conflict','error':'Tasks use this host','hint':'move or delete them first'}`)
	k.must(k.delete(k.user.UserID, task.ID))
	same(t, k.host.deleted, `['`+task.ID+`']`)
	k.must(k.hosts.Delete(k.ctx, k.user, host.ID, false))
	same(t, fault(k.hosts.Delete(k.ctx, k.user, host.ID, false)), `{'code':'not_found','error':'Host not found'}`)
}

func TestListTasks(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		other := k.newUser("eve@example.org", false)
		var ids []string
		for i := range 7 {
			if i != 3 { // two tasks are changed at the same moment
				k.clock.Advance(time.Millisecond)
			}
			task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{Title: fmt.Sprintf("Größe %d", i)})
			k.must(err)
			ids = append([]string{task.ID}, ids...)
		}
		var walked []string
		cursor := ""
		for {
			page, err := k.tasks.List(k.ctx, k.user.UserID, broker.TaskQuery{Limit: 3, Cursor: cursor})
			k.must(err)
			for _, task := range page.Tasks {
				walked = append(walked, task.ID)
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		if fmt.Sprint(walked) != fmt.Sprint(ids) {
			t.Errorf("walked %v\nwant %v", walked, ids)
		}
		none, err := k.tasks.List(k.ctx, other.UserID, broker.TaskQuery{})
		k.must(err)
		same(t, none, `{'tasks':[],'nextCursor':''}`)
		found, err := k.tasks.List(k.ctx, k.user.UserID, broker.TaskQuery{Q: "GRÖSSE 5"})
		k.must(err)
		if len(found.Tasks) != 0 { // ß has no simple upper case
			t.Errorf("%d tasks", len(found.Tasks))
		}
		found, err = k.tasks.List(k.ctx, k.user.UserID, broker.TaskQuery{Q: "gRÖße 5"})
		k.must(err)
		if len(found.Tasks) != 1 || found.Tasks[0].Title != "Größe 5" {
			t.Errorf("%+v", found.Tasks)
		}
		yes := true
		_, err = k.tasks.Update(k.ctx, k.user, ids[2], broker.TaskPatch{Archived: &yes})
		k.must(err)
		archived, err := k.tasks.List(k.ctx, k.user.UserID, broker.TaskQuery{Archived: &yes})
		k.must(err)
		if len(archived.Tasks) != 1 || archived.Tasks[0].ID != ids[2] {
			t.Errorf("%+v", archived.Tasks)
		}
		_, err = k.tasks.List(k.ctx, k.user.UserID, broker.TaskQuery{Cursor: "nonsense"})
		same(t, fault(err), `{'code':'invalid','error':'cursor is not one of ours'}`)
	})
}

func TestUpdateTask(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	k.mustSend(task.ID, "", seqd(1, 1, "t1", text("a")), seqd(1, 2, "t1", text("b")))
	title, far, back := "Renamed", int64(99), int64(1)
	got, err := k.tasks.Update(k.ctx, k.user, task.ID, broker.TaskPatch{Title: &title, ReadRev: &far})
	k.must(err)
	if got.Title != title || got.ReadRev != 3 || got.Rev != 4 {
		t.Errorf("%+v", got)
	}
	got, err = k.tasks.Update(k.ctx, k.user, task.ID, broker.TaskPatch{ReadRev: &back})
	k.must(err)
	if got.ReadRev != 3 || got.Rev != 4 {
		t.Errorf("reading went back: %+v", got)
	}
	otherUser := k.newUser("eve@example.org", false)
	_, err = k.tasks.Update(k.ctx, otherUser, task.ID, broker.TaskPatch{Title: &title})
	same(t, fault(err), `{'code':'not_found','error':'Task not found'}`)
	same(t, fault(k.delete(otherUser.UserID, task.ID)), `{'code':'not_found','error':'Task not found'}`)
	empty := ""
	_, err = k.tasks.Update(k.ctx, k.user, task.ID, broker.TaskPatch{Title: &empty})
	same(t, fault(err), `{'code':'invalid','error':'title is required'}`)
	agent, chat := protocol.ModeAgent, protocol.ModeChat
	_, err = k.tasks.Update(k.ctx, k.user, task.ID, broker.TaskPatch{Mode: &agent})
	k.must(err)
	_, err = k.tasks.Update(k.ctx, k.user, task.ID, broker.TaskPatch{Mode: &chat})
	same(t, fault(err),
		`{'code':'invalid','error':'mode cannot be changed','hint':'Create another task with the mode that you want'}`)
}
