package bench

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/procfs"

	"bellhop/agenthost"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/protocol"
)

// hostProcess is an agent host in a process of its own.
type hostProcess struct {
	*child
	url string
}

// host starts an agent host whose only agent is scripted, see play.
func (r *run) host(data string) *hostProcess {
	address := freeAddress()
	c := r.role("host", "BELLHOP_HOST_LISTEN="+address, "BELLHOP_HOST_DATA="+data)
	h := &hostProcess{child: c, url: "http://" + address}
	r.ready(h.child, h.url)
	return h
}

// system is a broker, its PostgreSQL and a host.
type system struct {
	pg     *cluster
	host   *hostProcess
	broker *brokerProcess
}

func (r *run) system() *system {
	w := &system{pg: r.cluster(), host: r.host(r.dir())}
	w.broker = r.broker(w.pg, w.host.url)
	r.onClose(w.host.stop) // before the broker: the host still has events to post
	return w
}

func openHost(context.Context) (server, error) {
	return app.OpenHost(app.HostConfig{
		Listen: os.Getenv("BELLHOP_HOST_LISTEN"), Password: seal.NewSecret(hostPassword),
		Data: os.Getenv("BELLHOP_HOST_DATA"), AdminListen: os.Getenv("BELLHOP_HOST_ADMIN_LISTEN"),
		File:      app.HostFile{Default: "paced"},
		Providers: map[string]agenthost.Provider{"paced": scripted{}},
		Log:       warnings(),
	})
}

// footprint is the memory use of a process after a garbage collection.
type footprint struct {
	Live, Resident int // bytes: heap objects and stacks; in RAM
	Goroutines     int
}

// footprint measures a process in a role.
func (c *child) footprint() (f footprint) {
	must(io.WriteString(c.Stdin(), "{}\n"))
	if err := json.NewDecoder(c.Stdout()).Decode(&f); err != nil {
		check(c.failed(err))
	}
	return f
}

// measure writes a footprint of this process for each value that it reads. A failure
// ends the process; the run prints its last words.
func measure(in *json.Decoder, out *json.Encoder) {
	for request := (struct{}{}); in.Decode(&request) == nil; {
		debug.FreeOSMemory() // after a collection, all resident memory is in use
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		_ = out.Encode(footprint{
			Live: int(m.HeapAlloc + m.StackInuse), Resident: must(must(procfs.Self()).Stat()).ResidentMemory(),
			Goroutines: runtime.NumGoroutine(),
		})
	}
}

// per returns the growth since an earlier footprint, divided by n.
func (f footprint) per(n int, since footprint) (live, resident string, goroutines float64) {
	each := float64(n)
	goroutines = float64(f.Goroutines-since.Goroutines) / each
	return kib(float64(f.Live-since.Live) / each), kib(float64(f.Resident-since.Resident) / each), goroutines
}

// session is a session of a host.
type session struct {
	host      *hostProcess
	id, token string
	before    string // stream id before the first part; "" = unknown
}

// open calls the host's /session as a broker does. Without an id the session gets a
// new one.
func (h *hostProcess) open(ctx context.Context, req *protocol.OpenSessionRequest) *session {
	if req.SessionID == "" {
		req.SessionID = protocol.NewID()
	}
	var opened protocol.OpenSessionResponse
	check(json.Unmarshal(h.call(ctx, "/session", hostPassword, req), &opened))
	s := &session{host: h, id: req.SessionID, token: opened.Token}
	if opened.Cursor != nil {
		s.before = protocol.StreamID{Epoch: opened.Cursor.Epoch}.String()
	}
	return s
}

// prompt begins a turn and returns its stream.
func (s *session) prompt(ctx context.Context, text string) io.ReadCloser {
	return s.host.send(ctx, http.MethodPost, "/stream/"+s.id, s.token, &protocol.PromptRequest{Prompt: text})
}

// complete begins a turn and returns at its end.
func (s *session) complete(ctx context.Context, prompt string) { must(readAll(s.prompt(ctx, prompt))) }

// begin starts a turn and leaves its stream.
func (s *session) begin(ctx context.Context, prompt string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	check(s.prompt(ctx, prompt).Close())
}

// call posts and returns the response's body.
func (h *hostProcess) call(ctx context.Context, path, bearer string, body any) []byte {
	return must(readAll(h.send(ctx, http.MethodPost, path, bearer, body)))
}

// send returns the body of the host's response.
func (h *hostProcess) send(ctx context.Context, method, path, bearer string, body any) io.ReadCloser {
	var sent []byte
	if body != nil {
		sent = must(json.Marshal(body))
	}
	return must(request(ctx, method, h.url+path, "Bearer "+bearer, sent))
}
