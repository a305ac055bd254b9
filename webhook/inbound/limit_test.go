package inbound_test

import (
	"testing"
	"time"
)

const tooManyRequests = `{"error":"Too many requests for this task","code":"too_many_requests"}`

func TestATaskHasABurstOf200And50ASecond(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 200 {
		want(t, s.send(text), 200, acceptedOne)
	}
	got := s.send(text)
	want(t, got, 429, tooManyRequests)
	if got.Header().Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", got.Header().Get("Retry-After"))
	}
	r, _ := post(path+"?token="+s.sign(other), `{"sessionId":"task-2","type":"text","id":"a","text":"b","timestamp":1}`)
	want(t, s.do(r), 200, acceptedOne) // another task does not wait
	s.clock.Advance(time.Second)
	for range 50 {
		want(t, s.send(text), 200, acceptedOne)
	}
	want(t, s.send(text), 429, tooManyRequests)
}

func TestWrongSignaturesDelayOnlyFurtherWrongOnes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wrong := forge(`{"alg":"HS256"}`, `{"taskId":"task-1","iat":1,"exp":2,"aud":"agent-webhook"}`,
		"another secret of thirty-two bytes")
	try := func(address string) (int, string) {
		r, _ := post(path+"?token="+wrong, text)
		r.RemoteAddr = address
		got := s.do(r)
		return got.Code, got.Header().Get("Retry-After")
	}
	for i := 1; i < 200; i++ {
		if status, _ := try("192.0.2.1:1000"); status != 401 {
			t.Fatalf("wrong token %d answered %d", i, status)
		}
	}
	s.clock.Advance(20 * time.Second)
	if status, retry := try("192.0.2.1:1001"); status != 429 || retry != "40" {
		t.Errorf("the 200th answered %d, Retry-After %q", status, retry)
	}
	if status, _ := try("192.0.2.2:1000"); status != 401 {
		t.Errorf("another address answered %d", status)
	}
	r, _ := post(path+"?token="+s.token(), text)
	r.RemoteAddr = "192.0.2.1:1002"
	want(t, s.do(r), 200, acceptedOne)
	s.clock.Advance(40 * time.Second)
	if status, _ := try("192.0.2.1:1003"); status != 401 {
		t.Errorf("in the next minute it answered %d", status)
	}
}

func TestExpiredTokensAreNeverCounted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	presented := s.token()
	s.clock.Advance(time.Hour)
	for range 300 {
		r, _ := post(path+"?token="+presented, text)
		want(t, s.do(r), 401, expired)
	}
	want(t, s.send(text), 200, acceptedOne)
}
