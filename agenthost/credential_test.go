package agenthost_test

import (
	"context"
	"errors"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// lateJournal calls after when it has found a token.
type lateJournal struct {
	agenthost.Journal
	after func()
}

func (j *lateJournal) Token(ctx context.Context, hash []byte) (*agenthost.TokenRecord, error) {
	found, err := j.Journal.Token(ctx, hash)
	if j.after != nil {
		after := j.after
		j.after = nil
		after()
	}
	return found, err
}

func TestACredentialThatEndsWhileItsStreamOpens(t *testing.T) {
	t.Parallel()
	var late *lateJournal
	r := newRig(t)
	r.options = func(o *agenthost.Options) {
		late = &lateJournal{Journal: o.Journal}
		o.Journal = late
	}
	r.start()
	open := func() string {
		return r.openSession(&protocol.OpenSessionRequest{
			SessionID: "s1", WebhookURL: r.broker.url(), BrokerID: "b1", Credential: "laptop", Attach: true,
		}).Token
	}
	revoke := func() {
		_, err := r.host.RevokeCredentials(t.Context(), &protocol.RevokeRequest{
			BrokerID: "b1", Credentials: []string{"laptop"},
		})
		if err != nil {
			t.Error(err)
		}
	}
	token := open()
	late.after = revoke
	_, _, _, err := r.host.AuthorizeStream(t.Context(), "s1", token)
	r.wantCode("the token ended after it was read", err, protocol.CodeUnauthorized)

	_, held, leave, err := r.host.AuthorizeStream(t.Context(), "s1", open())
	if err != nil || held.Err() != nil {
		t.Fatal(err, held.Err())
	}
	defer leave()
	revoke()
	if !errors.Is(context.Cause(held), agenthost.ErrCredentialEnded) {
		t.Errorf("the stream's context: %v", context.Cause(held))
	}
}
