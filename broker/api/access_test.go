package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"bellhop/broker"
	"bellhop/protocol"
)

// fixedAuth is an Auth with one caller and one outcome.
type fixedAuth struct {
	Auth
	caller broker.Caller
	err    error
}

func (v *fixedAuth) Caller(context.Context) broker.Caller { return broker.Caller{UserID: "ada"} }

func (v *fixedAuth) Authenticate(*http.Request) (broker.Caller, error) { return v.caller, v.err }

func TestAFeedEndsOnARevocationAndNotOnAnOutage(t *testing.T) {
	t.Parallel()
	ada := broker.Caller{UserID: "ada"}
	away := protocol.Errorf(protocol.CodeUnavailable, "the database is not available")
	for _, c := range []struct {
		name    string
		caller  broker.Caller
		auth    error
		reach   error
		allowed bool
	}{
		{"nothing changed", ada, nil, nil, true},
		{
			"the credentials are worth nothing now",
			broker.Caller{},
			protocol.Errorf(protocol.CodeUnauthorized, "Unauthorized"), nil, false,
		},
		{"the credentials are another user's now", broker.Caller{UserID: "bob"}, nil, nil, false},
		{"the task is deleted", ada, nil, protocol.Errorf(protocol.CodeNotFound, "Task not found"), false},
		{"the database is away for the credentials", broker.Caller{}, away, nil, true},
		{"the database is away for the task", ada, nil, away, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &API{Auth: &fixedAuth{caller: c.caller, err: c.auth}}
			allowed := a.stillAllowed(httptest.NewRequest(http.MethodGet, "/api/events",
				http.NoBody), func(context.Context, broker.Caller) error {
				return c.reach
			})
			if got := allowed(t.Context()); got != c.allowed {
				t.Errorf("got %v", got)
			}
		})
	}
}
