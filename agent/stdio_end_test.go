package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"bellhop/protocol"
)

func TestEndOfInputDeniesQuestionsAndFinishesTheTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ prompt, until, last string }{
		"an open permission": {
			"write new.txt: x", protocol.LineConfirm,
			"I did not do that, because it was not allowed.\n\n> Denied: the input has ended, no client can answer.",
		},
		"an open question": {
			"ask Which floor?", protocol.LineAsk, "I got no answer to my question, so I go on without one.",
		},
		"a later permission": {
			"slow 4 then write new.txt: x", protocol.LineChunk,
			"I did not do that, because it was not allowed.\n\n> Denied: the input has ended, no client can answer.",
		},
		"the rest of an answer": {"slow 20", protocol.LineChunk, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := workspace(t)
			synctest.Test(t, func(t *testing.T) {
				a := serve(t, Options{Dir: dir})
				a.input(c.prompt)
				a.until(c.until)
				a.ends()
				if n := len(a.seen); a.answered() != 1 || !strings.Contains(a.seen[n-1], `"reason":"done"`) {
					t.Errorf("got\n%s", strings.Join(a.seen, "\n"))
				}
				want := string(encode(protocol.Line{
					Type: "message", Content: &c.last, Format: "markdown", Metadata: encode(map[string]string{"model": "demo"}),
				}))
				if got := a.seen[len(a.seen)-2]; got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			})
			if _, err := os.Stat(filepath.Join(dir, "new.txt")); err == nil {
				t.Error("the file was written")
			}
		})
	}
}

func TestTheEndOfTheContextInterrupts(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := serveContext(ctx, t, Options{})
	c.input("slow 36000")
	c.until(protocol.LineChunk)
	cancel(stop)
	c.waiting(protocol.WaitingInterrupted)
	if err := c.end(); !errors.Is(err, stop) {
		t.Errorf("ended with %v", err)
	}
}

func TestAClientThatStopsReadingCannotBlockTheEnd(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := serveContext(ctx, t, Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		c.input("help")
		synctest.Wait()
		cancel()
		if err := <-c.done; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestAFailingOutputEndsTheSession(t *testing.T) {
	t.Parallel()
	in, inWrite := io.Pipe()
	out, outWrite := io.Pipe()
	_ = out.Close()
	done := make(chan error, 1)
	go func() { done <- Stdio(t.Context(), in, outWrite, Options{Dir: t.TempDir()}) }()
	_, _ = io.WriteString(inWrite, "{\"type\":\"input\",\"text\":\"slow 36000\"}\n")
	if err := <-done; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("ended with %v", err)
	}
	_ = inWrite.Close()
}

func TestAFailingInputIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	c := serve(t, Options{})
	c.input("slow 5")
	c.until(protocol.LineChunk)
	_ = c.in.CloseWithError(broken)
	if err := c.end(); !errors.Is(err, broken) {
		t.Errorf("ended with %v", err)
	}
	if c.answered() != 1 {
		t.Errorf("got\n%s", strings.Join(c.seen, "\n"))
	}
}
