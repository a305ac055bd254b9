package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bellhop/deploy/headless/backend"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/testlist"
)

// Under the name bellhop the test binary runs main, so that stories start, kill
// and restart real processes.
func TestMain(m *testing.M) {
	testscript.Main(withPostgres{m}, map[string]func(){"bellhop": main, "backend": backend.Main})
}

type withPostgres struct{ m *testing.M }

func (w withPostgres) Run() int { return testenv.Main(w.m) }

// dailyStories returns the scripts of testdata/stories: with the tag full all of them, else those whose first line has
// @daily.
func dailyStories(t *testing.T) (files []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("testdata", "stories", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if first, _, _ := strings.Cut(string(content), "\n"); testlist.IsFull || strings.Contains(first, "@daily") {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		t.Fatal("there are no stories")
	}
	return files
}

// TestStories runs scripts of testdata/stories. These commands are available in
// addition to those of testscript. They wait for conditions, never for a time:
//
//	start NAME bellhop ARGS…   runs a server until it answers; its URLs are then in $broker and $host
//	stop NAME                  sends SIGTERM and requires exit code 0
//	kill9 NAME                 sends SIGKILL
//	log NAME                   prints the output of the process so far
//	postgres                   creates an empty database and sets $BELLHOP_DATABASE_URL
//	api METHOD ROUTE [JSON]    sends a request to the broker with the API token $token; stderr is the status
//	browser METHOD ROUTE [JSON]  sends a request with the session cookie, as the console does
//	call-host METHOD ROUTE [JSON]  sends a request to the agent host with $hostPassword
//	await ROUTE PATH VALUE     repeats a request to the broker until the response has VALUE at PATH
//	let NAME PATH [FILE]       sets $NAME to the value at PATH, or to the match of a /RE/, in the last output or a file
//	match PATH VALUE           requires VALUE at PATH of the last response
//	checkin MESSAGE            POST /api/agent for $task; sets the URL and token for stream
//	attach                     POST /api/agent/attach for $task; sets the URL and token for stream
//	stream [-until RE] [-after ID] [PROMPT]  reads the turn from its host, until its end or a frame that
//	                           matches RE; prints the frames and sets $cursor to the last id
//	open-clients NAME N URL TOKEN  opens N streams
//	wait-clients NAME RE       waits until all streams of NAME have ended, each with a frame that matches RE
//	totp SECRET                prints the code that an authenticator app shows for a second factor
//	dump FILE                  writes the content of the broker's database to a file
//	compare-history            requires one history of $task in the host's journal and at the broker, without duplicates
func TestStories(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	tour, err := tourScript(string(readme))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files:              dailyStories(t),
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			jar, err := cookiejar.New(nil)
			if err != nil {
				return err
			}
			w := &storyState{
				t: t, processes: map[string]*serverProcess{},
				clients: map[string]*clients{}, http: http.Client{Jar: jar, Transport: &http.Transport{}},
			}
			env.Values[worldKey{}] = w
			env.Defer(func() { w.close(env.T()) })
			if err := writeDocuments(env); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(env.WorkDir, "tour.sh"), []byte(tour), 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start": start, "stop": stop, "kill9": kill9, "log": showLog, "postgres": postgres,
			"api": api, "browser": browser, "call-host": callHost, "await": await, "let": let, "match": match,
			"checkin": checkin, "attach": attach, "stream": stream, "compare-history": compareHistory,
			"open-clients": openClients, "wait-clients": waitClients, "dump": dump, "totp": showCode,
		},
	})
}

// tourScript returns the first shell block of the README's tour.
func tourScript(readme string) (string, error) {
	_, rest, ok := strings.Cut(readme, "\n## A tour with curl\n")
	block := regexp.MustCompile("(?s)\n```sh\n(.*?)\n```\n").FindStringSubmatch(rest)
	if !ok || block == nil {
		return "", errors.New("the README has no tour with curl")
	}
	return block[1] + "\n", nil
}

// storyState is shared by the commands of one story.
type storyState struct {
	t         *testing.T
	processes map[string]*serverProcess
	clients   map[string]*clients
	http      http.Client
}

type worldKey struct{}

func stateOf(ts *testscript.TestScript) *storyState { return ts.Value(worldKey{}).(*storyState) }

func (w *storyState) close(t testscript.T) {
	w.http.CloseIdleConnections()
	for name, n := range w.processes {
		n.kill()
		if failed, ok := t.(interface{ Failed() bool }); ok && failed.Failed() {
			t.Log(fmt.Sprintf("%s printed:\n%s", name, n.output()))
		}
	}
}

// postgres creates an empty database and sets $BELLHOP_DATABASE_URL to its URL.
func postgres(ts *testscript.TestScript, neg bool, args []string) {
	checkUsage(ts, "postgres", neg, len(args) == 0)
	ts.Setenv("BELLHOP_DATABASE_URL", testenv.Postgres(stateOf(ts).t, nil))
}

// checkUsage ends the story if a command is not used as TestStories describes.
func checkUsage(ts *testscript.TestScript, name string, neg, ok bool) {
	if neg || !ok {
		ts.Fatalf("usage: see TestStories for %s", name)
	}
}
