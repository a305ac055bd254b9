package main

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"bellhop/internal/sse"
)

// clients are many readers of one stream.
type clients struct {
	group sync.WaitGroup
	mu    sync.Mutex
	ends  map[string]int // last frames, and how many readers got each
	errs  map[string]int
}

// openClients opens N streams and returns when each has received a frame.
func openClients(ts *testscript.TestScript, neg bool, args []string) {
	checkUsage(ts, "open-clients", neg, len(args) == 4)
	w := stateOf(ts)
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	c := &clients{ends: map[string]int{}, errs: map[string]int{}}
	ctx, cancel := context.WithTimeout(context.Background(), conditionTimeout)
	ts.Defer(cancel)
	began := make(chan struct{}, n)
	for range n {
		c.group.Go(func() {
			last, err := w.lastFrame(ctx, args[2], args[3], began)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.ends[last]++
			if err != nil {
				c.errs[err.Error()]++
			}
		})
	}
	for range n {
		select {
		case <-began:
		case <-ctx.Done():
			ts.Fatalf("%s: not all of %d readers have had a frame: %v", args[0], n, c.errs)
		}
	}
	w.clients[args[0]] = c
}

// lastFrame reads a stream to its end and returns the last frame.
func (w *storyState) lastFrame(ctx context.Context, url, token string, began chan<- struct{}) (last string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := w.http.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("stream: %s", res.Status)
	}
	first := true
	for reader := sse.NewReader(res.Body); ; first = false {
		frame, err := reader.Next()
		if err != nil {
			return last, nil // the last frame shows how the stream ended
		}
		if first {
			began <- struct{}{}
		}
		last = frame.Event + " " + string(frame.Data)
	}
}

// waitClients waits until all streams have ended, each with a frame that matches RE.
func waitClients(ts *testscript.TestScript, neg bool, args []string) {
	checkUsage(ts, "wait-clients", neg, len(args) == 2)
	c := stateOf(ts).clients[args[0]]
	if c == nil {
		ts.Fatalf("no clients were opened as %s", args[0])
	}
	c.group.Wait()
	want := regexp.MustCompile(args[1])
	for last, n := range c.ends {
		if !want.MatchString(last) {
			ts.Fatalf("%d readers of %s ended with %q (%v)", n, args[0], last, c.errs)
		}
	}
}
