package inbound_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"bellhop/crypto/seal"
	"bellhop/crypto/signature"
	"bellhop/protocol"
)

func TestABodyWithoutItsSignatureStoresNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		password string // "": not signed
		at       time.Time
		body     string // that is sent instead of the signed one
		status   int
		answer   string
	}{
		"signed": {"agent-password", start, text, 200, acceptedOne},
		"not signed": {
			"", start, text, 401, `{"error":"The webhook headers are missing or malformed","code":"signature_missing"}`,
		},
		"another body": {
			"agent-password", start, text + " ",
			401, `{"error":"The webhook signature does not match","code":"signature_invalid"}`,
		},
		"another password": {
			"guess", start, text, 401, `{"error":"The webhook signature does not match","code":"signature_invalid"}`,
		},
		"a replay": {
			"agent-password", start.Add(-time.Hour), text,
			401, `{"error":"The webhook timestamp is too far away","code":"signature_time"}`,
		},
		"a wrong signature of no JSON": {
			"guess", start, "{", 401,
			`{"error":"The webhook signature does not match","code":"signature_invalid"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.fakeDomain.signer = "agent-password"
			r, _ := post(path, c.body)
			r.Header.Set("Authorization", "Bearer "+s.token())
			if c.password != "" {
				key, err := signature.OfSession(seal.NewSecret(c.password), taskID)
				if err == nil {
					err = signature.Sign(r.Header, "evt_1_1_1", c.at, []byte(text), key)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			want(t, s.do(r), c.status, c.answer)
			if got := s.fakeDomain.eventCount(); (got > 0) != (c.status == 200) {
				t.Errorf("%d events reached the domain", got)
			}
		})
	}
}

func TestTheTokenOfARenewalMayBeInItsHeader(t *testing.T) {
	t.Parallel()
	const twice = `{"error":"Invalid token format","code":"invalid","hint":"Send one webhook token"}`
	for name, c := range map[string]struct {
		query   func(s *site) string
		headers func(s *site) []string
		status  int
		body    string // "": a new address
	}{
		"query":           {(*site).token, nil, 200, ""},
		"header":          {nil, func(s *site) []string { return []string{s.token()} }, 200, ""},
		"none":            {nil, nil, 400, missing},
		"an empty header": {nil, func(*site) []string { return []string{""} }, 400, format},
		"two headers":     {nil, func(s *site) []string { return []string{s.token(), s.token()} }, 400, twice},
		"both, different": {(*site).token, func(s *site) []string { return []string{s.sign(other)} }, 400, twice},
		"another's secret": {
			nil, func(s *site) []string { return []string{forge(`{"alg":"HS256"}`, `{"taskId":"task-1"}`, "x")} },
			401, invalid,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			target := path + "/renew"
			if c.query != nil {
				target += "?token=" + c.query(s)
			}
			r := httptest.NewRequest(http.MethodPost, target, http.NoBody)
			r.Header.Set("Authorization", "Bearer agent-password")
			if c.headers != nil {
				for _, h := range c.headers(s) {
					r.Header.Add(protocol.HeaderWebhookToken, h)
				}
			}
			got := s.do(r)
			if c.body != "" {
				want(t, got, c.status, c.body)
			} else if got.Code != c.status {
				t.Errorf("%d %s", got.Code, got.Body)
			}
		})
	}
}

func TestAnotherCopyOfTheHostStoresNothing(t *testing.T) {
	t.Parallel()
	for life, status := range map[string]int{"": 200, "h.this /data": 200, "h.other /copy": 503} {
		for _, password := range []string{"agent-password", "guess"} {
			s := newSite(t)
			s.fakeDomain.signer = "agent-password"
			r, _ := post(path, text)
			r.Header.Set("Authorization", "Bearer "+s.token())
			r.Header.Set(protocol.HeaderLife, life)
			key, err := signature.OfSession(seal.NewSecret(password), taskID)
			if err == nil {
				err = signature.Sign(r.Header, "evt_1_1_1", start, []byte(text), key)
			}
			if err != nil {
				t.Fatal(err)
			}
			want := status
			if password == "guess" { // nobody else can have a copy reported
				want = 401
			}
			if got := s.do(r); got.Code != want {
				t.Errorf("%q, signed with %q: %d %s", life, password, got.Code, got.Body)
			}
			if got := s.fakeDomain.eventCount(); (got > 0) != (want == 200) {
				t.Errorf("%q: %d events reached the domain", life, got)
			}
		}
	}
}
