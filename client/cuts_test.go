package client_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// Connections break at random frames; the transcript is complete every time.
func TestRandomCutsLoseNothing(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for range testenv.Rounds(t) {
		cutHost(t, random)
	}
}

// cutHost streams 200 words. Each connection breaks after a few. Sometimes it does not know the
// cursor any more and replays the turn under a higher epoch.
func cutHost(t *testing.T, random *rand.Rand) {
	t.Helper()
	const words = 200
	var want strings.Builder
	for i := range words {
		want.WriteString(strconv.Itoa(i) + " ")
	}
	epoch := 1
	s := newStage(t)
	act := func(w http.ResponseWriter, r *http.Request) {
		var from int
		var frames []string
		if last := r.Header.Get("Last-Event-ID"); last != "" {
			of, offset, _ := strings.Cut(last, "-")
			from, _ = strconv.Atoi(offset)
			frames = append(frames, ok)
			if random.IntN(8) == 0 {
				epoch++
			}
			if of != strconv.Itoa(epoch) {
				from, frames[0] = 0, gap
			}
		}
		until := min(words, from+random.IntN(80))
		for i := from; i < until; i++ {
			frames = append(frames, fmt.Sprintf(`%d-%d {"type":"text-delta","id":"a","text":"%d "}`, epoch, i+1, i))
		}
		end := reply(breaking)
		if until == words {
			end = closing
			frames = append(frames, fmt.Sprintf(`%d-%d {"type":"finish","finishReason":"stop"}`, epoch, words+1))
		}
		sending(end, frames...)(w, r)
	}
	for range 1000 {
		s.script = append(s.script, act)
	}
	stream, err := s.client().Send(t.Context(), &protocol.CheckInRequest{TaskID: "t", Message: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	_, transcript, err := read(stream.Events(t.Context()))
	if err != nil || transcript.Text() != want.String() || transcript.End == nil {
		t.Errorf("error %v, text %q", err, transcript.Text())
	}
}
