package broker

import (
	"context"
	"errors"
	"net/http"
	"time"

	"bellhop/crypto/signature"
	"bellhop/protocol"
)

// signatureReload is how old the keys may be that refuse a signature. It bounds the queries that
// a sender with wrong signatures causes.
const signatureReload = time.Second

// CheckSignature accepts the body of a request to the webhook if its signature is right, or if the
// task's host does not sign. Other programs than the host can have its webhook token, but they do
// not know the agent password. CodeSignatureMissing, CodeSignatureInvalid, CodeSignatureTime.
func (s *Ingest) CheckSignature(ctx context.Context, taskID string, header http.Header, body []byte) error {
	err := s.checkSignature(ctx, taskID, header, body, secretTTL)
	if signatureCode(err) {
		// The password may have changed, or the host does not sign anymore.
		err = s.checkSignature(ctx, taskID, header, body, signatureReload)
	}
	if !signatureCode(err) {
		return err
	}
	if s.Reconciler != nil {
		// A proxy may have changed the request, or another host have the session now. The events are read from the host.
		s.Reconciler.Wake(taskID)
	}
	return s.refusedSignature(err)
}

func (s *Ingest) checkSignature(
	ctx context.Context, taskID string, header http.Header, body []byte, maxAge time.Duration,
) error {
	keys, err := s.webhookKeys(ctx, taskID, maxAge)
	if err != nil || len(keys.signed) == 0 {
		return err
	}
	return signature.Verify(header, body, s.Now(), keys.signed...)
}

func signatureCode(err error) bool {
	switch protocol.CodeOf(err) {
	case protocol.CodeSignatureMissing, protocol.CodeSignatureInvalid, protocol.CodeSignatureTime:
		return true
	}
	return false
}

// refusedSignature adds what helps the host or its operator.
func (s *Ingest) refusedSignature(err error) error {
	var known *protocol.Error
	if !errors.As(err, &known) {
		return err
	}
	refused := *known
	switch refused.Code {
	case protocol.CodeSignatureMissing:
		refused.Hint = "The session's host signs its events. If another one has the session now, open the task again"
	case protocol.CodeSignatureInvalid:
		refused.Hint = "The host and the broker need the same agent password: see `bellhop hosts update`"
	case protocol.CodeSignatureTime:
		refused.Hint = "The clocks of host and broker differ by more than five minutes"
		refused.Fields = map[string]any{"time": s.Now().UTC().Format(time.RFC3339)}
	}
	return &refused
}
