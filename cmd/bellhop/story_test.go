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
)

// The test binary is the product too: under the name bellhop it runs main, so
// that stories start, kill and restart real processes.
func TestMain(m *testing.M) {
	testscript.Main(withPostgres{m}, map[string]func(){"bellhop": main, "backend": backend.Main})
}

type withPostgres struct{ m *testing.M }

func (w withPostgres) Run() int { return testenv.Main(w.m) }

// TestStories plays testdata/stories. Beside the commands of testscript they
// know, all of them waiting for conditions and none for time:
//
//	start NAME bellhop ARGS…   runs a server until it answers; its URLs are then in $broker and $host
//	stop NAME                  ends it with SIGTERM and wants exit 0 · kill9 NAME kills it
//	log NAME                   what it has printed, as stdout
//	postgres                   an empty database, its URL in $BELLHOP_DATABASE_URL
//	api METHOD ROUTE [JSON]    asks the broker with the API token $token; stderr is the status
//	browser METHOD ROUTE [JSON]  asks as the console does: with the session cookie it was given
//	ask-host METHOD ROUTE [JSON]  asks the agent host with $hostPassword
//	await ROUTE PATH VALUE     asks the broker until the answer has VALUE at PATH
//	let NAME PATH [FILE]       keeps what the last output, or a file, has at PATH, or what a /RE/ finds in it
//	match PATH VALUE           the last answer has VALUE at PATH
//	checkin MESSAGE            POST /api/agent for $task; then stream knows where to go
//	attach                     POST /api/agent/attach for $task, likewise
//	stream [-until RE] [-after ID] [PROMPT]  reads the turn from its host, up to its end or the frame
//	                           RE matches, and hangs up; prints the frames; the last id is then $cursor
//	gather NAME N URL TOKEN    N readers of a stream; part NAME RE waits until all have ended, each with a frame like RE
//	dump FILE                  everything the broker's database holds, sealed columns as they are
//	agree                      the host's journal and the broker's history of $task hold the same, once
func TestStories(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	tour, err := tourOf(string(readme))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("testdata", "stories"),
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			jar, err := cookiejar.New(nil)
			if err != nil {
				return err
			}
			w := &world{t: t, nodes: map[string]*node{}, crowds: map[string]*crowd{}, http: http.Client{Jar: jar, Transport: &http.Transport{}}}
			env.Values[worldKey{}] = w
			env.Defer(func() { w.close(env.T()) })
			return os.WriteFile(filepath.Join(env.WorkDir, "tour.sh"), []byte(tour), 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start": start, "stop": stop, "kill9": kill9, "log": showLog, "postgres": postgres,
			"api": api, "browser": browser, "ask-host": askHost, "await": await, "let": let, "match": match,
			"checkin": checkin, "attach": attach, "stream": stream, "agree": agree,
			"gather": gather, "part": part, "dump": dump,
		},
	})
}

// tourOf is the first shell block under the README's tour, as written.
func tourOf(readme string) (string, error) {
	_, rest, ok := strings.Cut(readme, "\n## A tour with curl\n")
	block := regexp.MustCompile("(?s)\n```sh\n(.*?)\n```\n").FindStringSubmatch(rest)
	if !ok || block == nil {
		return "", errors.New("the README has no tour with curl")
	}
	return block[1] + "\n", nil
}

// world is what the commands of one story share.
type world struct {
	t      *testing.T
	nodes  map[string]*node
	crowds map[string]*crowd
	http   http.Client
}

type worldKey struct{}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

func (w *world) close(t testscript.T) {
	w.http.CloseIdleConnections()
	for name, n := range w.nodes {
		n.kill()
		if failed, ok := t.(interface{ Failed() bool }); ok && failed.Failed() {
			t.Log(fmt.Sprintf("%s printed:\n%s", name, n.printed()))
		}
	}
}

// postgres puts the URL of an empty database where the binary looks for it.
func postgres(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "postgres", neg, len(args) == 0)
	ts.Setenv("BELLHOP_DATABASE_URL", testenv.Postgres(worldOf(ts).t, nil))
}

// usage refuses a call that is not as the list above says.
func usage(ts *testscript.TestScript, name string, neg, ok bool) {
	if neg || !ok {
		ts.Fatalf("usage: see TestStories for %s", name)
	}
}
