package delivery_test

import (
	"net/http"
	"testing"

	"bellhop/agenthost/core"
	"bellhop/agenthost/delivery"
	"bellhop/protocol"
)

// Each request has a name of its own. An answer is the broker's if it names the broker and the request, whatever the
// status and the body.
func TestWhoseAnswerItIs(t *testing.T) {
	t.Parallel()
	const receipt, gone = `{"success":true,"cursor":{"epoch":1,"seq":2}}`, `{"error":"No","code":"gone"}`
	of := func(brokerID, request string) func(http.Header) {
		return func(h http.Header) {
			h.Set(protocol.HeaderBroker, brokerID)
			if request != "" {
				h.Set(protocol.HeaderRequest, request)
			}
		}
	}
	for name, c := range map[string]struct {
		named, announced bool // the broker has an id; it names its answers
		names            func(http.Header)
		foreign          bool
	}{
		"the broker's own":             {true, true, of("b1", ""), false},
		"to another request":           {true, true, of("b1", "another"), true},
		"of another broker":            {true, true, of("b2", ""), true},
		"of a gateway":                 {true, true, func(h http.Header) { clear(h) }, true},
		"of a broker of before":        {true, false, func(h http.Header) { clear(h) }, false},
		"of a broker that has no name": {false, false, func(h http.Header) { clear(h) }, false},
	} {
		for _, body := range []string{receipt, gone} {
			t.Run(name+" "+body, func(t *testing.T) {
				t.Parallel()
				status := http.StatusOK
				if body == gone {
					status = http.StatusGone
				}
				s := &script{
					orders: []delivery.Order{{
						Job: core.JobSend, SessionID: "s1", URL: "https://b.example/hook?token=t",
						BrokerID: brokerID(c.named), NamedAnswers: c.announced,
					}},
					events: []core.EventRecord{event(1, 2, protocol.EventText, 0)},
					responses: []func(*http.Request) (*http.Response, error){func(r *http.Request) (*http.Response, error) {
						resp, err := respond(status, body)(r)
						c.names(resp.Header)
						return resp, err
					}},
				}
				s.run(t.Context())
				switch in := s.inputs[0].(type) {
				case core.DeliveryAccepted:
					if c.foreign || body == gone {
						t.Errorf("accepted")
					}
				case core.DeliveryRefused:
					if in.Refusal.Foreign != c.foreign || !c.foreign && body == receipt || c.foreign && in.Refusal.Code != "" {
						t.Errorf("got %+v", in.Refusal)
					}
				}
			})
		}
	}
}
