package client_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"bellhop/client"
	"bellhop/protocol"
)

const (
	start  = `3-1 {"type":"text-start","id":"a"}`
	hello  = `3-2 {"type":"text-delta","id":"a","text":"hel"}`
	lo     = `3-3 {"type":"text-delta","id":"a","text":"lo"}`
	end    = `3-4 {"type":"text-end","id":"a","event":{"id":"e1","seq":1,"turnId":"turn"}}`
	finish = `3-5 {"type":"finish","finishReason":"stop","event":{"id":"e2","seq":2,"turnId":"turn"}}`
	ok     = `{"type":"data-resume","data":{"verdict":"ok","from":"","to":"","openInteractions":[]}}`
	gap    = `{"type":"data-resume","data":{"verdict":"gap","from":"","to":"","openInteractions":[]}}`

	completeTurn = "3-1 text-start,3-2 text-delta,3-3 text-delta,3-4 text-end,3-5 finish"
)

// read lists the items of a stream: parts by id and type, reset, lost, and the
// error's code at the end.
func read(events iter.Seq2[client.Event, error]) (string, *client.Transcript, error) {
	var seen []string
	transcript := &client.Transcript{}
	var failure error
	for event, err := range events {
		switch {
		case err != nil:
			failure = err
			seen = append(seen, "error "+string(protocol.CodeOf(err)))
		case event.Reset:
			seen = append(seen, "reset")
		case event.Lost != nil:
			seen = append(seen, "lost")
		default:
			seen = append(seen, strings.TrimSpace(event.ID+" "+event.Part.Type))
		}
		transcript.Apply(event)
	}
	return strings.Join(seen, ","), transcript, failure
}

func TestSend(t *testing.T) {
	t.Parallel()
	unauthorized := refusing(401, `{"error":"Unauthorized","code":"unauthorized"}`)
	post := func(token int) string { return fmt.Sprintf(`POST Bearer token-canary-%d {"prompt":"hi"}`, token) }
	get := func(token int, after string) string {
		return strings.TrimSpace(fmt.Sprintf(`GET Bearer token-canary-%d %s`, token, after))
	}
	for _, tt := range []struct {
		name    string
		script  []reply
		want    string
		asked   []string
		checked []string // after the check-in
		text    string   // default: "hello"
	}{
		{
			name:   "a turn from start to end",
			script: []reply{sending(closing, start, hello, lo, end, finish)},
			want:   completeTurn, asked: []string{post(1)},
		},
		{
			name:   "a drop is resumed after the last id",
			script: []reply{sending(breaking, start, hello), sending(closing, ok, lo, end, finish)},
			want:   "3-1 text-start,3-2 text-delta,lost,3-3 text-delta,3-4 text-end,3-5 finish",
			asked:  []string{post(1), get(1, "3-2")},
		},
		{
			name:   "an end without a finish is a drop",
			script: []reply{sending(closing, start, hello, lo), sending(closing, ok), sending(closing, ok, end, finish)},
			want:   "3-1 text-start,3-2 text-delta,3-3 text-delta,lost,lost,3-4 text-end,3-5 finish",
			asked:  []string{post(1), get(1, "3-3"), get(1, "3-3")},
		},
		{
			name: "a replay that is lost before its first id is asked for again",
			script: []reply{
				sending(breaking, gap, `{"type":"text-start","id":"a"}`),
				sending(closing, gap, `{"type":"text-start","id":"a"}`, `{"type":"text-delta","id":"a","text":"hello"}`,
					end, finish),
			},
			want:  "reset,text-start,lost,reset,text-start,text-delta,3-4 text-end,3-5 finish",
			asked: []string{post(1), post(1)},
		},
		{
			name: "a gap resets the turn",
			script: []reply{
				sending(breaking, start, `3-2 {"type":"text-delta","id":"a","text":"lost"}`),
				sending(closing, gap, `4-1 {"type":"text-start","id":"a"}`, `4-2 {"type":"text-delta","id":"a","text":"hello"}`,
					`4-3 {"type":"text-end","id":"a"}`, `4-4 {"type":"finish","finishReason":"stop"}`),
			},
			want:  "3-1 text-start,3-2 text-delta,lost,reset,4-1 text-start,4-2 text-delta,4-3 text-end,4-4 finish",
			asked: []string{post(1), get(1, "3-2")},
		},
		{
			name:   "503, then success",
			script: []reply{refusing(503, ""), sending(closing, start, hello, lo, end, finish)},
			want:   "lost," + completeTurn, asked: []string{post(1), post(1)},
		},
		{
			name:   "a drop before the first frame posts again: the host replays",
			script: []reply{sending(breaking), sending(closing, start, hello, lo, end, finish)},
			want:   "lost," + completeTurn, asked: []string{post(1), post(1)},
		},
		{
			name:   "401 before the start checks in again with the same message",
			script: []reply{unauthorized, sending(closing, start, hello, lo, end, finish)},
			want:   completeTurn, asked: []string{post(1), post(2)}, checked: []string{"check-in m"},
		},
		{
			name:   "401 after the start attaches",
			script: []reply{sending(breaking, start, hello), unauthorized, sending(closing, ok, lo, end, finish)},
			want:   "3-1 text-start,3-2 text-delta,lost,3-3 text-delta,3-4 text-end,3-5 finish",
			asked:  []string{post(1), get(1, "3-2"), get(2, "3-2")}, checked: []string{"attach"},
		},
		{
			name:   "401 with a fresh token is an error",
			script: []reply{unauthorized, unauthorized},
			want:   "error unauthorized", asked: []string{post(1), post(2)}, checked: []string{"check-in m"}, text: "-",
		},
		{
			name:   "busy is an error",
			script: []reply{refusing(409, `{"error":"A turn is open","code":"busy"}`)},
			want:   "error busy", asked: []string{post(1)}, text: "-",
		},
		{
			name:   "a response that is not a stream is an error",
			script: []reply{refusing(200, `<html>`)},
			want:   "error unavailable", asked: []string{post(1)}, text: "-",
		},
		{
			name: "a redirect is not followed",
			script: []reply{func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			}},
			want: "error invalid", asked: []string{post(1)}, text: "-",
		},
		{
			name:   "a frame that is no part is an error",
			script: []reply{sending(closing, start, "3-2 {")},
			want:   "3-1 text-start,error bad_gateway", asked: []string{post(1)}, text: "-",
		},
		{
			name:   "attempts end",
			script: []reply{refusing(503, ""), refusing(502, ""), refusing(503, ""), refusing(429, ""), refusing(503, "")},
			want:   "lost,lost,lost,lost,error unavailable", asked: []string{post(1), post(1), post(1), post(1), post(1)},
			text: "-",
		},
		{
			name:   "an aborted turn ends",
			script: []reply{sending(closing, start, hello, lo, end, `3-5 {"type":"abort","reason":"aborted"}`)},
			want:   "3-1 text-start,3-2 text-delta,3-3 text-delta,3-4 text-end,3-5 abort", asked: []string{post(1)},
		},
		{
			name: "events of other names are no parts",
			script: []reply{func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = fmt.Fprint(w, "event: other\ndata: {\n\n")
				sending(closing, start, hello, lo, end, finish)(w, r)
			}},
			want: completeTurn, asked: []string{post(1)},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t, tt.script...)
			stream, err := s.client().Send(t.Context(), &protocol.CheckInRequest{TaskID: "t", Message: "hi", MessageID: "m"})
			if err != nil {
				t.Fatal(err)
			}
			got, transcript, failure := read(stream.Events(t.Context()))
			if got != tt.want {
				t.Errorf("read\n got %s\nwant %s\n(%v)", got, tt.want, failure)
			}
			for i := range s.asked {
				s.asked[i] = strings.Replace(s.asked[i], "/stream/t ", "", 1)
				s.asked[i] = strings.Join(strings.Fields(s.asked[i]), " ")
			}
			if !reflect.DeepEqual(s.asked, tt.asked) {
				t.Errorf("asked\n got %q\nwant %q", s.asked, tt.asked)
			}
			if want := append([]string{"check-in m"}, tt.checked...); !reflect.DeepEqual(s.checked, want) {
				t.Errorf("asked the broker %q, want %q", s.checked, want)
			}
			if tt.text == "" && transcript.Text() != "hello" {
				t.Errorf("text %q", transcript.Text())
			}
			if failure != nil &&
				(strings.Contains(failure.Error(), "canary") || !strings.HasPrefix(failure.Error(), s.host.URL+": ")) {
				t.Errorf("the error must name the origin alone: %v", failure)
			}
		})
	}
}

func TestRenewalRetriesWhileTheBrokerIsUnavailable(t *testing.T) {
	t.Parallel()
	unauthorized := refusing(401, `{"error":"Unauthorized","code":"unauthorized"}`)
	s := newStage(t, sending(breaking, start, hello), unauthorized, sending(closing, ok, lo, end, finish))
	s.away = 2
	stream, err := s.client().Send(t.Context(), &protocol.CheckInRequest{TaskID: "t", Message: "hi", MessageID: "m"})
	if err != nil {
		t.Fatal(err)
	}
	_, transcript, err := read(stream.Events(t.Context()))
	if err != nil || transcript.Text() != "hello" {
		t.Errorf("text %q, %v", transcript.Text(), err)
	}
	if want := []string{"check-in m", "attach", "attach", "attach"}; !reflect.DeepEqual(s.checked, want) {
		t.Errorf("asked the broker %q, want %q", s.checked, want)
	}
}

func TestASilentStreamIsResumed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.script = []reply{sending(s.hanging, start, hello), sending(closing, ok, lo, end, finish)}
	c := client.New(s.broker.URL, client.Options{
		HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, Idle: 30 * time.Millisecond,
		MinBackoff: time.Millisecond,
	})
	stream, err := c.Send(t.Context(), &protocol.CheckInRequest{TaskID: "t", Message: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	got, transcript, err := read(stream.Events(t.Context()))
	if transcript.Text() != "hello" || !strings.Contains(got, "lost") {
		t.Errorf("read %s, %v", got, err)
	}
	if stream.MessageID == "" {
		t.Error("a message without id is not safe to repeat")
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	cursor := "3-0"
	for _, tt := range []struct {
		name   string
		cursor *string
		script []reply
		want   string
		asked  []string
	}{
		{
			"the open turn from its start", &cursor,
			[]reply{sending(closing, ok, start, hello, lo, end, finish)},
			completeTurn,
			[]string{"GET /stream/t Bearer token-canary-1 3-0"},
		},
		{
			"an idle task has nothing to watch", nil,
			[]reply{refusing(204, "")},
			"",
			[]string{"GET /stream/t Bearer token-canary-1"},
		},
		{
			"no session on the host", nil,
			[]reply{refusing(404, `{"error":"No session","code":"not_found"}`)},
			"error not_found",
			[]string{"GET /stream/t Bearer token-canary-1"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t, tt.script...)
			s.cursor = tt.cursor
			stream, err := s.client().Watch(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			if got, _, err := read(stream.Events(t.Context())); got != tt.want {
				t.Errorf("read %s, want %s (%v)", got, tt.want, err)
			}
			if !reflect.DeepEqual(s.asked, tt.asked) {
				t.Errorf("asked %q, want %q", s.asked, tt.asked)
			}
		})
	}
}

func TestFollowContinuesAfterATurn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.script = []reply{sending(closing, ok, start, finish), sending(s.hanging, ok, `3-6 {"type":"text-start","id":"b"}`)}
	stream, err := s.client().Resume(t.Context(), "t", "2-9")
	if err != nil {
		t.Fatal(err)
	}
	stream.Follow = true
	seen := ""
	for event, err := range stream.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Part != nil {
			seen += event.ID + " "
		}
		if event.ID == "3-6" {
			break
		}
	}
	want := []string{
		"GET /stream/t?follow=true Bearer token-canary-1 2-9", "GET /stream/t?follow=true Bearer token-canary-1 3-5",
	}
	if seen != "3-1 3-5 3-6 " || !reflect.DeepEqual(s.asked, want) {
		t.Errorf("read %s, asked %q", seen, s.asked)
	}
}

func TestTheContextEndsAStream(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.script = []reply{sending(s.hanging, start)}
	stream, err := s.client().Send(t.Context(), &protocol.CheckInRequest{TaskID: "t", Message: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range stream.Events(ctx) {
		last = err
		cancel()
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("got %v", last)
	}
}
