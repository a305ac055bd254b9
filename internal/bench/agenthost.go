package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"bellhop/agenthost/setup"
	known "bellhop/internal/app/agents"
)

// agentHost is `bellhop host` with real agents on a scripted model. A stub receives
// the host's events.
type agentHost struct {
	*run
	*hostProcess
	hook string // of a stub
}

func (r *run) agentHost() *agentHost {
	model, address := r.model, freeAddress()
	c := r.child([]string{r.bellhop, "host"},
		"BELLHOP_HOST_LISTEN="+address, "BELLHOP_HOST_PASSWORD="+hostPassword, "BELLHOP_LOG_LEVEL=warn",
		"BELLHOP_HOST_DATA="+r.dir(), "BELLHOP_HOST_CONFIG="+r.configure(), "BELLHOP_AGENTS_DIR="+r.agents,
		"ANTHROPIC_BASE_URL="+model, "ANTHROPIC_API_KEY=none", "OPENAI_BASE_URL="+model+"/v1", "OPENAI_API_KEY=none",
		"GOOGLE_GEMINI_BASE_URL="+model, "GEMINI_API_KEY=none")
	h := &agentHost{run: r, hostProcess: &hostProcess{child: c, url: "http://" + address}, hook: r.stub().hook}
	r.ready(c, h.url)
	return h
}

// configure writes the host's configuration, in which a tee runs every agent.
func (r *run) configure() string {
	dir, self, cache := r.dir(), must(os.Executable()), must(known.OpenCache(r.agents))
	configured := map[string]any{}
	tee := func(a subject, kind string, words ...string) {
		quoted := each(append([]string{self, command, teeWord, "--"}, words...), func(word string) string {
			return must(syntax.Quote(word, syntax.LangPOSIX))
		})
		path := filepath.Join(dir, a.name)
		script := "#!/bin/sh\nexec " + strings.Join(quoted, " ") + " \"$@\"\n"
		check(os.WriteFile(path, []byte(script), 0o700)) //nolint:gosec // a program
		configured[a.name] = map[string]any{"kind": kind, "command": []string{path}}
	}
	tee(demo, "jsonl", r.bellhop, "agent", "--stdio")
	for _, a := range []subject{openCode, claude, codex, gemini} {
		tee(a, a.name, must(cache.Find(r.ctx, a.name, setup.Want{})).Command...)
	}
	path := filepath.Join(dir, "host.yaml")
	forTees := map[string][]string{"read": {self, r.bellhop, dir}}
	file := must(json.Marshal(map[string]any{"agents": configured, "sandbox": forTees}))
	check(os.WriteFile(path, file, 0o600)) // JSON is YAML
	return path
}

// Tee runs an agent's program and stamps what it writes to stdout. If the program is a
// server, with --port, the tee listens at that port and stamps its responses.
func Tee(ctx context.Context, command []string, stdout io.Writer) error {
	if len(command) == 0 {
		return errors.New("there is no command")
	}
	return caught(func() {
		if port := slices.Index(command, "--port") + 1; port > 0 && port < len(command) {
			own := must(new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:"+command[port]))
			behind := must(url.Parse("http://" + freeAddress()))
			command[port] = behind.Port()
			go func() { _ = http.Serve(own, stampingProxy(behind)) }() //nolint:gosec // ends with the process
		}
		cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // the benchmark's own command
		cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
		out := must(cmd.StdoutPipe())
		check(cmd.Start())
		check(errors.Join(stamp(out, stdout), cmd.Wait()))
	})
}

// stampingProxy stamps the responses of a server.
func stampingProxy(behind *url.URL) http.Handler {
	proxy := httputil.NewSingleHostReverseProxy(behind)
	proxy.FlushInterval = -1 // at once
	proxy.ModifyResponse = func(resp *http.Response) error {
		body := resp.Body
		stamped, out := io.Pipe()
		go func() { _ = out.CloseWithError(errors.Join(stamp(body, out), body.Close())) }()
		resp.Body, resp.ContentLength = stamped, -1
		resp.Header.Del("Content-Length")
		return nil
	}
	return proxy
}

// numbers are the pieces of the counting, as the scripted model and the demo agent
// write them.
var numbers = regexp.MustCompile(`(?:tick|"content":")\d+ `)

// stamp copies lines and adds the time to every number. A line with several is a text
// that was written before in pieces: it repeats their times.
func stamp(in io.Reader, out io.Writer) error {
	times := map[string]string{}
	for lines := bufio.NewReaderSize(in, 64<<10); ; {
		line, err := lines.ReadBytes('\n')
		now := partMark + strconv.FormatInt(time.Now().UnixNano(), 10) + " "
		repeated := len(numbers.FindAllIndex(line, 2)) > 1
		line = numbers.ReplaceAllFunc(line, func(number []byte) []byte {
			if known := times[string(number)]; known == "" || !repeated {
				times[string(number)] = now
			}
			return append(slices.Clip(number), times[string(number)]...)
		})
		if _, err := out.Write(line); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
