package servers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/internal/process"
	"bellhop/internal/servers"
)

// mode is the variable that makes this test binary a server.
const mode = "SERVERS_TEST_MODE"

func TestMain(m *testing.M) {
	if how := os.Getenv(mode); how != "" {
		serve(how, os.Args[1])
		return
	}
	goleak.VerifyTestMain(m)
}

// serve is the helper program: it listens on its port and answers health checks
// with its pid.
func serve(how, port string) {
	switch how {
	case "silent": // never writes the ready line
		forever()
	case "broken":
		fmt.Fprintln(os.Stderr, "bad configuration")
		os.Exit(7)
	case "once-taken": // the first try fails as if the port was in use
		file := os.Getenv("SERVERS_TEST_FILE")
		if _, err := os.Stat(file); err != nil {
			_ = os.WriteFile(file, nil, 0o600)
			fmt.Fprintln(os.Stderr, "ServeError")
			os.Exit(1)
		}
	case "always-taken":
		fmt.Fprintln(os.Stderr, "ServeError")
		os.Exit(1)
	case "no-listener": // writes the ready line, but another program answers on its port
		fmt.Println("listening on", port)
		forever()
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:"+port)
	if err != nil {
		fmt.Fprintln(os.Stderr, "ServeError")
		os.Exit(1)
	}
	fmt.Println("starting\nlistening on", port)
	mux := http.NewServeMux()
	sick := how == "sick-at-first"
	mux.HandleFunc("/health", func(w http.ResponseWriter, r *http.Request) {
		if sick {
			sick = false
			<-r.Context().Done() // a request before the routes exist is never answered
			return
		}
		_, _ = fmt.Fprintf(w, `{"pid":%d}`, os.Getpid())
	})
	mux.HandleFunc("/die", func(http.ResponseWriter, *http.Request) {
		fmt.Fprintln(os.Stderr, "panic: oh no")
		os.Exit(3)
	})
	_ = http.Serve(listener, mux)
}

func forever() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	<-signals
}

func get(ctx context.Context, port int, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+strconv.Itoa(port)+path, nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

func health(ctx context.Context, port int) error {
	body, err := get(ctx, port, "/health")
	if err != nil {
		return err
	}
	var answer struct{ Pid int }
	return json.Unmarshal(body, &answer)
}

// spec returns the spec of a server of a kind.
func spec(key, how string, env ...string) servers.Spec {
	return servers.Spec{
		Key: key,
		Command: func(port int) process.Command {
			return process.Command{
				Args: []string{os.Args[0], strconv.Itoa(port)},
				Env:  append([]string{mode + "=" + how, "PATH=" + os.Getenv("PATH")}, env...),
			}
		},
		Ready:     func(line string) bool { return strings.HasPrefix(line, "listening on") },
		Health:    health,
		PortTaken: func(lines []string) bool { return slices.Contains(lines, "ServeError") },
	}
}

// kit is a Manager and a record of its notifications.
type kit struct {
	*servers.Manager
	mu       sync.Mutex
	notified []string
	exits    []servers.Exit
	infos    []servers.Info
	news     chan struct{}
}

func newKit(t *testing.T, options servers.Options) *kit {
	t.Helper()
	k := &kit{Manager: servers.New(options), news: make(chan struct{}, 100)}
	k.Subscribe(servers.Callbacks{
		Started: func(i servers.Info) { k.note("started "+i.Key, i, servers.Exit{}) },
		Stopped: func(i servers.Info, e servers.Exit) { k.note("stopped "+i.Key, i, e) },
	})
	t.Cleanup(func() {
		if err := k.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if left := k.List(); len(left) > 0 {
			t.Errorf("left %+v", left)
		}
	})
	return k
}

func (k *kit) note(what string, i servers.Info, e servers.Exit) {
	k.mu.Lock()
	k.notified, k.infos, k.exits = append(k.notified, what), append(k.infos, i), append(k.exits, e)
	k.mu.Unlock()
	k.news <- struct{}{}
}

func (k *kit) want(t *testing.T, want ...string) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.Equal(k.notified, want) {
		t.Errorf("notified %q, want %q", k.notified, want)
	}
}

func start(t *testing.T, k *kit, s servers.Spec) *servers.Server {
	t.Helper()
	server, err := k.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func TestStartedFiresAfterTheHealthProbe(t *testing.T) {
	t.Parallel()
	k := newKit(t, servers.Options{ProbeTimeout: 50 * time.Millisecond})
	k.Subscribe(servers.Callbacks{Started: func(i servers.Info) {
		if err := health(t.Context(), i.Port); err != nil {
			t.Errorf("started, yet %v", err)
		}
	}})
	start(t, k, spec("a", "sick-at-first"))
	k.want(t, "started a")
}

func TestConcurrentStartsOfOneKeyYieldOneServer(t *testing.T) {
	t.Parallel()
	k := newKit(t, servers.Options{})
	pids := make([]int, 8)
	var group sync.WaitGroup
	for i := range pids {
		group.Go(func() {
			if s, err := k.Start(t.Context(), spec("a", "good")); err != nil {
				t.Error(err)
			} else {
				pids[i] = s.Info().Pid
			}
		})
	}
	group.Wait()
	if slices.Sort(pids); pids[0] != pids[7] || pids[0] == 0 {
		t.Errorf("got pids %v", pids)
	}
	k.want(t, "started a")
}

func TestRestartKeepsThePort(t *testing.T) {
	t.Parallel()
	k := newKit(t, servers.Options{})
	before := start(t, k, spec("a", "good")).Info()
	after, err := k.Restart(t.Context(), spec("a", "good"))
	if err != nil {
		t.Fatal(err)
	}
	if i := after.Info(); i.Port != before.Port || i.Pid == before.Pid {
		t.Errorf("before %+v, after %+v", before, i)
	}
	k.want(t, "started a", "stopped a", "started a")
	if !k.exits[1].Wanted {
		t.Error("the stop of a restart is wanted")
	}
}

func TestRestartTakesAnotherPortWhenItsOwnIsTaken(t *testing.T) {
	t.Parallel()
	k := newKit(t, servers.Options{})
	before := start(t, k, spec("a", "good")).Info()
	if err := k.Stop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	thief, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(before.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer thief.Close()
	after, err := k.Restart(t.Context(), spec("a", "good"))
	if err != nil {
		t.Fatal(err)
	}
	if after.Info().Port == before.Port {
		t.Error("two programs have one port")
	}
}

func TestAProgramThatCannotBindItsPortGetsAnother(t *testing.T) {
	t.Parallel()
	k := newKit(t, servers.Options{})
	start(t, k, spec("a", "once-taken", "SERVERS_TEST_FILE="+filepath.Join(t.TempDir(), "tried")))
	k.want(t, "started a")
}

func TestPortsAreTriedABoundedNumberOfTimes(t *testing.T) {
	t.Parallel()
	k := newKit(t, servers.Options{Tries: 2})
	s := spec("a", "always-taken")
	command, tries := s.Command, 0
	s.Command = func(port int) process.Command { tries++; return command(port) }
	if _, err := k.Start(t.Context(), s); err == nil || tries != 2 {
		t.Errorf("%d tries, %v", tries, err)
	}
	k.want(t)
}

func TestAResponseOfAnotherProgramIsNotHealthy(t *testing.T) {
	t.Parallel()
	k := newKit(t, servers.Options{})
	var thief net.Listener
	s := spec("a", "no-listener")
	command, tries := s.Command, 0
	s.Command = func(port int) process.Command {
		c := command(port)
		if tries++; tries > 1 {
			c.Env[0] = mode + "=good"
			return c
		}
		var err error
		if thief, err = net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port)); err != nil {
			t.Fatal(err)
		}
		go func() {
			_ = http.Serve(thief,
				http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"pid":1}`) }))
		}()
		return c
	}
	server := start(t, k, s)
	defer thief.Close()
	if tries != 2 || server.Info().Port == thief.Addr().(*net.TCPAddr).Port {
		t.Errorf("%d tries, port %d", tries, server.Info().Port)
	}
}

func TestABrokenProgramIsStartedOnce(t *testing.T) {
	t.Parallel()
	k := newKit(t, servers.Options{})
	s := spec("a", "broken")
	command, tries := s.Command, 0
	s.Command = func(port int) process.Command { tries++; return command(port) }
	_, err := k.Start(t.Context(), s)
	if err == nil || tries != 1 || !strings.Contains(err.Error(), "bad configuration") {
		t.Errorf("%d tries, %v", tries, err)
	}
	k.want(t)
}

func TestAServerThatIsNeverReadyIsStopped(t *testing.T) {
	t.Parallel()
	k := newKit(t, servers.Options{StartTimeout: 200 * time.Millisecond})
	if _, err := k.Start(t.Context(), spec("a", "silent")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	k.want(t)
}

func TestAServerThatExitsFiresStoppedWithItsLastLines(t *testing.T) {
	t.Parallel()
	k := newKit(t, servers.Options{})
	server := start(t, k, spec("a", "good"))
	<-k.news
	_, _ = get(t.Context(), server.Info().Port, "/die")
	<-k.news
	k.want(t, "started a", "stopped a")
	if e := k.exits[1]; e.Wanted || e.Err == nil || !slices.Contains(e.Lines, "panic: oh no") {
		t.Errorf("got %+v", e)
	}
	again := start(t, k, spec("a", "good"))
	if again.Info().Pid == server.Info().Pid {
		t.Error("the dead server was returned")
	}
	k.want(t, "started a", "stopped a", "started a")
}

func TestNothingStartsAfterClose(t *testing.T) {
	t.Parallel()
	k := newKit(t, servers.Options{})
	server := start(t, k, spec("a", "good"))
	if err := k.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-server.Done()
	if _, err := k.Start(t.Context(), spec("a", "good")); !errors.Is(err, servers.ErrClosed) {
		t.Errorf("got %v", err)
	}
	k.want(t, "started a", "stopped a")
}

func TestStopOfNothingIsNoError(t *testing.T) {
	t.Parallel()
	k := newKit(t, servers.Options{})
	start(t, k, spec("a", "good"))
	for _, name := range []string{"a", "a", "never"} {
		if err := k.Stop(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	k.want(t, "started a", "stopped a")
}

func TestAMissingProgramIsNotTriedOnOtherPorts(t *testing.T) {
	t.Parallel()
	k := newKit(t, servers.Options{})
	s := spec("a", "good")
	tries := 0
	s.Command = func(int) process.Command {
		tries++
		return process.Command{Args: []string{filepath.Join(t.TempDir(), "no-such-program")}}
	}
	if _, err := k.Start(t.Context(), s); err == nil || tries != 1 {
		t.Errorf("%d tries, %v", tries, err)
	}
}
