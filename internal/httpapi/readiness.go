package httpapi

import "bellhop/protocol"

// Readiness returns the response of /readyz to the result of a check that storage takes writes. A full disk stays
// CodeStorageFull; any other error is CodeUnavailable with the message. isLow reports little space, which is no error.
func Readiness(err error, message string, isLow func() bool) (*protocol.Readiness, error) {
	if protocol.CodeOf(err) == protocol.CodeStorageFull {
		return nil, err
	}
	if err != nil {
		return nil, &protocol.Error{Code: protocol.CodeUnavailable, Message: message, RetryAfter: 1, Err: err}
	}
	ready := &protocol.Readiness{Status: "ready"}
	if isLow() {
		ready.Storage = protocol.StorageLow
	}
	return ready, nil
}
