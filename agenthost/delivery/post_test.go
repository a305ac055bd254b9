package delivery_test

import (
	"net/http"
	"testing"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/delivery"
	"bellhop/crypto/seal"
	"bellhop/crypto/signature"
	"bellhop/protocol"
)

const inHeader = "#" + protocol.WebhookInHeader

// A named broker gets a signature and, if its address says so, no token in the address, which proxies
// log. Any other broker gets the address that it sent and nothing else.
func TestOnlyANamedBrokerGetsSignedPosts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url        string
		named      bool
		want, auth string
		signed     bool
	}{
		"named, in a header": {hook + inHeader, true, "http://broker/hook", "Bearer secret", true},
		"named, with another query": {
			"http://broker/hook?a=1&token=x" + inHeader, true, "http://broker/hook?a=1", "Bearer x", true,
		},
		"named, in the query":      {hook, true, hook, "", true},
		"named, with another mark": {hook + "#x", true, hook + "#x", "", true},
		"named, without a token": {
			"http://broker/hook" + inHeader, true, "http://broker/hook" + inHeader, "", true,
		},
		"named, with a name in it": {
			"http://u:p@broker/hook?token=x" + inHeader, true, "http://u:p@broker/hook?token=x" + inHeader, "", true,
		},
		"named, with two tokens": {
			"http://broker/hook?token=x&token=y" + inHeader, true, "http://broker/hook?token=x&token=y" + inHeader, "", true,
		},
		"original contract": {hook, false, hook, "", false},
		"original contract, another query": {
			"http://broker/hook?b=1&a=2&token=x", false, "http://broker/hook?b=1&a=2&token=x", "", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{
				orders: []delivery.Order{
					{Job: core.JobSend, SessionID: "s1", URL: c.url, BrokerID: brokerID(c.named), NamedAnswers: c.named, ClockOffset: time.Hour},
				},
				events:    []core.EventRecord{event(2, 3, protocol.EventText, 0), event(2, 4, protocol.EventText, 0)},
				responses: []func(*http.Request) (*http.Response, error){respond(200, `{"cursor":{"epoch":2,"seq":4}}`)},
			}
			s.run(t.Context())
			r := s.requests[0]
			if r.URL.String() != c.want || r.Header.Get("Authorization") != c.auth ||
				r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s with %q", r.URL, r.Header)
			}
			if !c.signed {
				if len(r.Header) != 1 {
					t.Errorf("a basic broker gets %q", r.Header)
				}
				return
			}
			key, err := signature.OfSession(seal.NewSecret("pass"), "s1")
			if err == nil {
				err = signature.Verify(r.Header, []byte(s.bodies[0]), time.Now().Add(time.Hour), key)
			}
			if err != nil || r.Header.Get(signature.HeaderID) != "evt_2_3_4" {
				t.Errorf("%v: %q", err, r.Header)
			}
		})
	}
}

func TestARenewalAtANamedBroker(t *testing.T) {
	t.Parallel()
	renewed := respond(200, `{"webhookUrl":"http://broker/hook?token=2"}`)
	for name, c := range map[string]struct {
		url       string
		responses []func(*http.Request) (*http.Response, error)
		urls      []string
		renewed   bool
	}{
		"a broker that wants the token in a header": {
			hook + inHeader,
			[]func(*http.Request) (*http.Response, error){renewed},
			[]string{"http://broker/hook/renew"},
			true,
		},
		"a broker that wants the token in the query": {
			hook,
			[]func(*http.Request) (*http.Response, error){renewed},
			[]string{"http://broker/hook/renew?token=secret"},
			true,
		},
		"a broker that refuses the token in the query": {
			hook,
			[]func(*http.Request) (*http.Response, error){respond(400, `{"error":"Missing token","code":"invalid"}`)},
			[]string{"http://broker/hook/renew?token=secret"},
			false,
		},
		"a broker that finds no token in the header": {
			hook + inHeader,
			[]func(*http.Request) (*http.Response, error){respond(400, `{"error":"Missing token","code":"invalid"}`)},
			[]string{"http://broker/hook/renew"},
			false,
		},
		"a broker that refuses the renewal": {
			hook + inHeader,
			[]func(*http.Request) (*http.Response, error){respond(401, `{"error":"no","code":"unauthorized"}`)},
			[]string{"http://broker/hook/renew"},
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{orders: []delivery.Order{{Job: core.JobRenew, URL: c.url, BrokerID: brokerID(true), NamedAnswers: true}}, responses: c.responses}
			s.run(t.Context())
			if len(s.requests) != len(c.urls) {
				t.Fatalf("%d requests", len(s.requests))
			}
			for i, r := range s.requests {
				header := ""
				if i == 0 && c.url != hook {
					header = "secret"
				}
				if r.URL.String() != c.urls[i] || r.Header.Get(protocol.HeaderWebhookToken) != header ||
					r.Header.Get("Authorization") != "Bearer pass" {
					t.Errorf("%s with %q", r.URL, r.Header)
				}
			}
			if _, ok := s.inputs[0].(core.TokenRenewed); ok != c.renewed {
				t.Errorf("%+v", s.inputs[0])
			}
		})
	}
}

func TestOnlyANamedBrokerIsToldTheHostsLife(t *testing.T) {
	t.Parallel()
	life := protocol.NewLife("h", "m:/data").String()
	for _, job := range []core.Job{core.JobSend, core.JobRenew} {
		for _, named := range []bool{true, false} {
			s := &script{
				orders:    []delivery.Order{{Job: job, SessionID: "s1", URL: hook, BrokerID: brokerID(named), NamedAnswers: named}},
				events:    []core.EventRecord{event(2, 3, protocol.EventText, 0)},
				responses: []func(*http.Request) (*http.Response, error){respond(503, `{"error":"no","code":"two_copies"}`)},
			}
			sender := delivery.NewSender(s, seal.NewSecret("pass"), time.Now)
			sender.Life = life
			sender.Run(t.Context(), s)
			if got := s.requests[0].Header.Get(protocol.HeaderLife); (got == life) != named || !named && got != "" {
				t.Errorf("job %d of a broker that is named (%t): %q", job, named, got)
			}
		}
	}
}
