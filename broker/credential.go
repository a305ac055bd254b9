package broker

import (
	"context"
	"slices"

	"bellhop/protocol"
)

type credentialKey struct{}

// credential is the sign-in or API token of a request.
type credential struct{ userID, id string }

// WithCredential stores the user and the id of the sign-in or API token with which a request was
// authenticated. Stream tokens that are issued to the request end with this credential.
func WithCredential(ctx context.Context, userID, id string) context.Context {
	return context.WithValue(ctx, credentialKey{}, credential{userID, id})
}

func credentialOf(ctx context.Context) credential {
	used, _ := ctx.Value(credentialKey{}).(credential)
	return used
}

// open opens a session and sends the id of the request's credential, so that the stream token ends with
// it. Hosts that do not support credentials ignore the member.
func (s *Sessions) open(
	ctx context.Context, at *session, req *protocol.OpenSessionRequest,
) (*protocol.OpenSessionResponse, error) {
	req.Credential = credentialOf(ctx).id
	return s.Link.Open(ctx, at.target, req)
}

// checkCredential returns CodeUnauthorized if the request's credential ended while the host issued the
// stream token of the response: the revocation may have come before the host stored the token. Store the
// task's traits first: a credential that ends later is revoked at the hosts whose traits say that they
// support credentials.
func (s *Sessions) checkCredential(ctx context.Context, response *protocol.OpenSessionResponse) error {
	used := credentialOf(ctx)
	if used.id == "" || !supportsCredentials(response) {
		return nil
	}
	valid, err := s.Store.HasCredential(ctx, used.userID, used.id)
	if err != nil || valid {
		return err
	}
	return protocol.Errorf(protocol.CodeUnauthorized, "Unauthorized")
}

func supportsCredentials(response *protocol.OpenSessionResponse) bool {
	return slices.Contains(response.Capabilities, protocol.CapabilityCredentials)
}
