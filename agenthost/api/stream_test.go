package api_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost/api"
	"bellhop/protocol"
)

func TestAPromptIsStreamed(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	s := h.prompt("s1", h.announce("s1", "t1"), "text hello \ntext world\ntool look {\"path\":\".\"}\ntext bye")
	expectEqual(t, "parts", partTypes(s.readAll()),
		"text-start, text-delta hello , text-delta world, text-end, tool-call, tool-result, text-start, text-delta bye, "+
			"text-end, finish")
	for _, id := range s.ids {
		if _, err := protocol.ParseStreamID(id); err != nil {
			t.Errorf("the id %q", id)
		}
	}
}

func TestResumeIsExact(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	s := h.prompt("s1", token, "text a\ntext b\ntext c\nwait gate\ntext d")
	parts := s.readUntil(protocol.PartTextDelta)
	parts = append(parts, s.readUntil(protocol.PartTextDelta)...)
	parts = append(parts, s.readUntil(protocol.PartTextDelta)...)
	first, last := s.ids[0], s.ids[len(s.ids)-1]
	byHeader := h.attach("s1", token, "", "Last-Event-ID: "+first)
	byQuery := h.attach("s1", token, "&after="+first)
	newer := h.attach("s1", token, "&after="+first, "Last-Event-ID: "+last)
	fromStart := h.attach("s1", token, "")
	h.fake.Release("gate")
	parts = append(parts, s.readAll()...)
	expectEqual(t, "the first reader", partTypes(parts),
		"text-start, text-delta a, text-delta b, text-delta c, text-delta d, text-end, finish")
	rest := "text-delta a, text-delta b, text-delta c, text-delta d, text-end, finish"
	expectEqual(t, "Last-Event-ID", partTypes(byHeader.readAll()), "data-resume ok, "+rest)
	expectEqual(t, "?after", partTypes(byQuery.readAll()), "data-resume ok, "+rest)
	expectEqual(t, "the header is newer than the URL", partTypes(newer.readAll()),
		"data-resume ok, text-delta d, text-end, finish")
	got := partTypes(fromStart.readAll())
	if !strings.HasSuffix(got, "text-start, "+rest) {
		t.Errorf("without a cursor: %s", got)
	}
	for name, resumed := range map[string]*stream{"header": byHeader, "query": byQuery} {
		if resumed.ids[0] != "" || strings.Join(resumed.ids[1:], " ") != strings.Join(s.ids[1:], " ") {
			t.Errorf("%s: got ids %q, want %q", name, resumed.ids, s.ids[1:])
		}
	}
}

func TestAStreamOfAnIdleSessionIsNoContent(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	get := func(header ...string) int {
		status, _, _ := h.call(request{"GET", "/stream/s1?token=" + token, "", header})
		return status
	}
	if got := get(); got != http.StatusNoContent {
		t.Errorf("before the first turn: %d", got)
	}
	s := h.prompt("s1", token, "text hello")
	s.readAll()
	if got := get("Last-Event-ID: " + s.ids[len(s.ids)-1]); got != http.StatusNoContent {
		t.Errorf("with the newest id: %d", got)
	}
}

func TestUnknownCursorsAreAGap(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	s := h.prompt("s1", token, "text hello\nwait gate")
	s.readUntil(protocol.PartTextDelta)
	other := h.prompt("s2", h.announce("s2", "t2"), strings.Repeat("text x\n", 50))
	other.readAll()
	for name, cursor := range map[string]string{
		"text":               "hello",
		"a negative number":  "-1",
		"over 64 bits":       "1-18446744073709551616",
		"another epoch":      "9-1",
		"the future":         "1-999999",
		"10 KiB":             strings.Repeat("7", 10<<10),
		"another session's":  other.ids[len(other.ids)-1],
		"a leading zero":     "01-1",
		"injected fields":    "1-1%0aevent: x",
		"not UTF-8":          "%ff",
		"a space":            "%20",
		"an empty offset":    "1-",
		"a sign":             "1-+1",
		"SQL, out of habit":  "1-1' OR '1'='1",
		"a fraction":         "1-1.5",
		"another separator":  "1:1",
		"the lowest integer": "-9223372036854775808-1",
	} {
		t.Run(name, func(t *testing.T) {
			query := "&after=" + strings.NewReplacer(" ", "%20", "+", "%2b").Replace(cursor)
			streams := map[string]*stream{"query": h.attach("s1", token, query)}
			if !strings.Contains(cursor, "%") {
				streams["header"] = h.attach("s1", token, "", "Last-Event-ID: "+cursor)
			}
			for way, got := range streams {
				expectEqual(t, way, partTypes(got.readUntil(protocol.PartTextDelta)),
					"data-resume gap, text-start, text-delta hello")
				got.cancel()
			}
		})
	}
	h.fake.Release("gate")
	s.readAll()
	expectEqual(t, "after the end", partTypes(h.attach("s1", token, "&after=nonsense").readAll()),
		"data-resume gap, text-start, text-delta hello, text-end, finish")
}

func TestADisconnectNeverStopsATurn(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	s := h.prompt("s1", h.announce("s1", "t1"), "text a\nwait gate\ntext b")
	s.readUntil(protocol.PartTextDelta)
	s.cancel()
	h.fake.Release("gate")
	events := h.finishedEvents("s1")
	var text string
	var finish protocol.FinishReason
	for _, event := range events {
		switch event.Type {
		case protocol.EventText:
			text += *event.Text
		case protocol.EventFinish:
			finish = event.FinishReason
		}
	}
	if text != "ab" || finish != protocol.FinishStop {
		t.Errorf("got %q and %q", text, finish)
	}
}

func TestFollowOutlivesTurns(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	s := h.attach("s1", h.open("s1"), "&follow=true")
	for _, turn := range []string{"t1", "t2"} {
		h.prompt("s1", h.announce("s1", turn), "text "+turn).readAll()
		expectEqual(t, turn, strings.TrimPrefix(partTypes(s.readUntil(protocol.PartFinish)), "data-resume ok, "),
			"text-start, text-delta "+turn+", text-end, finish")
	}
}

func TestInvalidPromptsStartNoTurn(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	for name, c := range map[string]struct {
		body   string
		status int
		header []string
	}{
		"no body":                  {"", 400, nil},
		"no object":                {`"hello"`, 400, nil},
		"no prompt":                {`{}`, 400, nil},
		"a prompt of another type": {`{"prompt":1}`, 400, nil},
		"an unknown whenBusy":      {`{"prompt":"x","whenBusy":"panic"}`, 400, nil},
		"an attachment of no image": {
			`{"prompt":"x","attachments":[{"type":"file","mediaType":"text/plain","data":"eA=="}]}`, 400, nil,
		},
		"one without a media type": {`{"prompt":"x","attachments":[{"type":"image","data":"eA=="}]}`, 400, nil},
		"one that is not base64": {
			`{"prompt":"x","attachments":[{"type":"image","mediaType":"image/png","data":"?"}]}`, 400, nil,
		},
		"one without data": {`{"prompt":"x","attachments":[{"type":"image","mediaType":"image/png","data":""}]}`, 400, nil},
		"text/plain":       {`{"prompt":"x"}`, 415, []string{"Content-Type: text/plain"}},
		"encoded":          {`{"prompt":"x"}`, 415, []string{"Content-Encoding: gzip"}},
		"over 12 MiB":      {`{"prompt":"` + strings.Repeat("a", 12<<20) + `"}`, 413, nil},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, body := h.call(request{"POST", "/stream/s1?token=" + token, c.body, c.header})
			var answer protocol.ErrorBody
			if err := json.Unmarshal([]byte(body), &answer); err != nil || status != c.status || answer.Error == "" {
				t.Errorf("got %d %.200s", status, body)
			}
		})
	}
	if got := h.fake.Prompts(); len(got) != 0 {
		t.Fatalf("a turn began: %d", len(got))
	}
	h.prompt("s1", token, "text hello").readAll() // the token still starts its turn
}

func TestImagesReachTheAgent(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	png := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 8<<20)...)
	image := base64.StdEncoding.EncodeToString(png)
	body := fmt.Sprintf(`{"prompt":"text nice","attachments":[{"type":"image","mediaType":"image/png","data":%q}]}`, image)
	h.stream(request{"POST", "/stream/s1?token=" + h.announce("s1", "t1"), body, nil}).readAll()
	got := h.fake.Prompts()
	if len(got) != 1 || got[0].Text != "text nice" || len(got[0].Attachments) != 1 || got[0].Attachments[0].Data != image {
		t.Errorf("got %d prompts", len(got))
	}
}

func TestASecondPromptAttachesToTheOpenTurn(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	first := h.prompt("s1", token, "text a\nwait gate")
	first.readUntil(protocol.PartTextDelta)
	second := h.prompt("s1", token, "text never")
	third := h.announce("s1", "t2")
	status, _, body := h.call(request{"POST", "/stream/s1?token=" + third, `{"prompt":"text x"}`, nil})
	var answer protocol.ErrorBody
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusConflict ||
		answer.Code != protocol.CodeBusy {
		t.Errorf("another turn: %d %s", status, body)
	}
	h.fake.Release("gate")
	if got := partTypes(second.readAll()); !strings.HasSuffix(got, "text-start, text-delta a, text-end, finish") {
		t.Errorf("the second: %s", got)
	}
	first.readAll()
}

// Some clients repeat their POST after a cut, with the id of the last frame.
func TestARepeatedPostResumes(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	post := func(query string, header ...string) *stream {
		return h.stream(request{"POST", "/stream/s1?token=" + token + query, `{"prompt":"text never"}`, header})
	}
	first := h.prompt("s1", token, "text a\ntext b\nwait gate\ntext c")
	first.readUntil(protocol.PartTextDelta)
	first.readUntil(protocol.PartTextDelta)
	last := first.ids[len(first.ids)-1]
	open := map[string]*stream{"Last-Event-ID": post("", "Last-Event-ID: "+last), "?after": post("&after=" + last)}
	h.fake.Release("gate")
	first.readAll()
	end := first.ids[len(first.ids)-1]
	const rest = "data-resume ok, text-delta c, text-end, finish"
	for name, s := range open {
		expectEqual(t, name, partTypes(s.readAll()), rest)
	}
	expectEqual(t, "after the end of the turn", partTypes(post("&after="+last).readAll()), rest)
	status, _, body := h.call(request{"POST", "/stream/s1?token=" + token + "&after=" + end, `{"prompt":"x"}`, nil})
	if status != http.StatusNoContent {
		t.Errorf("a client that has all: %d %s", status, body)
	}
	const turn = "text-start, text-delta a, text-delta b, text-delta c, text-end, finish"
	for name, cursor := range map[string]string{"no stream id": "x", "before the turn": "0-0"} {
		got := partTypes(post("&after=" + cursor).readAll())
		if !strings.HasSuffix(got, turn) || !strings.HasPrefix(got, "data-resume gap, ") {
			t.Errorf("%s: %s", name, got)
		}
	}
	next := h.announce("s1", "t2")
	fresh := h.stream(request{"POST", "/stream/s1?token=" + next + "&after=" + end, `{"prompt":"text new"}`, nil})
	const all = "text-start, text-delta new, text-end, finish"
	expectEqual(t, "a cursor of the turn before", partTypes(fresh.readAll()), all)
}

func TestInterruptReturnsAfterTheTurnHasStopped(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	s := h.prompt("s1", token, "text a\nhang")
	s.readUntil(protocol.PartTextDelta)
	status, _, body := h.call(request{"POST", "/session/s1/interrupt?token=" + token, "", nil})
	if status != http.StatusOK || h.fake.Running() != 0 {
		t.Errorf("got %d, %d turns run", status, h.fake.Running())
	}
	expectEqual(t, "body", body, `{"success":true,"sessionId":"s1"}`)
	expectEqual(t, "the rest", partTypes(s.readAll()), "text-end, abort")
}

// Pings keep a silent stream open, behind proxies that close
// idle connections and under a server's write timeout.
func TestASilentStreamIsKeptAlive(t *testing.T) {
	t.Parallel()
	h := newHost(t, func(a *api.API, s *http.Server) {
		a.Ping = 20 * time.Millisecond
		s.WriteTimeout = time.Second
	})
	s := h.prompt("s1", h.announce("s1", "t1"), "wait gate\ntext after")
	lines := bufio.NewReader(s.resp.Body)
	for pings := 0; pings < 60; { // longer than the write timeout
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("after %d pings: %v", pings, err)
		}
		if line == ": ping\n" {
			pings++
		}
	}
	h.fake.Release("gate")
	for line := ""; !strings.Contains(line, `"type":"finish"`); {
		var err error
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
}

func TestShutdownEndsEveryStreamWithATerminalFrame(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	var streams []*stream
	for i := range 10 {
		session := fmt.Sprintf("s%d", i)
		token := h.announce(session, "t1")
		first := h.prompt(session, token, "text a\nhang")
		first.readUntil(protocol.PartTextDelta)
		streams = append(streams, first)
		for range 4 {
			reader := h.attach(session, token, "")
			reader.readUntil(protocol.PartTextDelta)
			streams = append(streams, reader)
		}
	}
	following := h.attach("idle", h.open("idle"), "&follow=true")
	h.stop()
	following.readAll() // no turn was open, so the stream has a clean end
	for _, s := range streams {
		parts := s.readAll()
		if len(parts) == 0 || !parts[len(parts)-1].Terminal() {
			t.Errorf("the stream ended with %s", partTypes(parts))
		}
	}
	if h.fake.Running() != 0 {
		t.Errorf("%d turns run", h.fake.Running())
	}
}

func TestAStreamIsTheSameWithAndWithoutItsHandler(t *testing.T) {
	t.Parallel()
	var responses []string
	for _, detached := range []bool{true, false} {
		h := newHost(t, func(a *api.API, _ *http.Server) {
			if !detached {
				a.Streams = nil
			}
		})
		token := h.announce("s1", "t1")
		prompt := request{"POST", "/stream/s1?token=" + token, `{"prompt":"text hello\ntext world"}`, []string{
			"Origin: " + console, "X-Request-Id: r1",
		}}
		for _, q := range []request{
			prompt,
			{"GET", "/stream/s1?after=1.1&token=" + token, "", prompt.header},
			{"POST", "/stream/s1?format=ui&token=" + token, prompt.body, prompt.header},
		} {
			status, header, body := h.call(q)
			header.Del("Date")
			header.Del("Connection") // a detached stream closes its connection
			responses = append(responses, fmt.Sprint(status, header, normalized(body)))
		}
	}
	for i, n := 0, len(responses)/2; i < n; i++ {
		if !strings.Contains(responses[i], console) || !strings.Contains(responses[i], "hello") {
			t.Errorf("response %d: %s", i, responses[i])
		}
		expectEqual(t, fmt.Sprintf("response %d", i), responses[i], responses[n+i])
	}
}
