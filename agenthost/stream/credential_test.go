package stream_test

import (
	"context"
	"errors"
	"testing"

	"bellhop/agenthost/stream"
)

func TestACredentialEndsItsOwnStreams(t *testing.T) {
	t.Parallel()
	var streams stream.CredentialStreams
	laptop := stream.Credential{BrokerID: "b1", ID: "laptop"}
	add := func(of stream.Credential) context.Context {
		held, leave := streams.Add(t.Context(), of)
		t.Cleanup(leave)
		return held
	}
	one, two := add(laptop), add(laptop)
	left, leave := streams.Add(t.Context(), laptop)
	leave()
	phone, otherBroker := add(stream.Credential{BrokerID: "b1", ID: "phone"}),
		add(stream.Credential{BrokerID: "b2", ID: "laptop"})
	streams.End(laptop)
	for name, c := range map[string]struct {
		held context.Context
		want error
	}{
		"its first stream":                      {one, stream.ErrCredentialEnded},
		"its second stream":                     {two, stream.ErrCredentialEnded},
		"a stream that had ended":               {left, context.Canceled},
		"a stream of another credential":        {phone, nil},
		"a stream of another broker":            {otherBroker, nil},
		"a stream that is opened after the end": {add(laptop), nil},
	} {
		if got := context.Cause(c.held); !errors.Is(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
