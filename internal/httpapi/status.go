package httpapi

import (
	"cmp"
	"net/http"

	"bellhop/protocol"
)

var statusOf = map[protocol.Code]int{
	protocol.CodeInvalid:          http.StatusBadRequest,
	protocol.CodeUnauthorized:     http.StatusUnauthorized,
	protocol.CodeTokenExpired:     http.StatusUnauthorized,
	protocol.CodeSignatureMissing: http.StatusUnauthorized,
	protocol.CodeSignatureInvalid: http.StatusUnauthorized,
	protocol.CodeSignatureTime:    http.StatusUnauthorized,
	protocol.CodeSecondFactor:     http.StatusUnauthorized,
	protocol.CodeForbidden:        http.StatusForbidden,
	protocol.CodeQuota:            http.StatusForbidden,
	protocol.CodeSessionKey:       http.StatusForbidden,
	protocol.CodeNotFound:         http.StatusNotFound,
	protocol.CodeMethodNotAllowed: http.StatusMethodNotAllowed,
	protocol.CodeConflict:         http.StatusConflict,
	protocol.CodeDiverged:         http.StatusConflict,
	protocol.CodeGap:              http.StatusConflict,
	protocol.CodeFenced:           http.StatusConflict,
	protocol.CodeUnverified:       http.StatusConflict,
	protocol.CodeBusy:             http.StatusConflict,
	protocol.CodeAttached:         http.StatusConflict,
	protocol.CodeNoTurn:           http.StatusConflict,
	protocol.CodeNoWorkspace:      http.StatusConflict,
	protocol.CodeNoBranch:         http.StatusConflict,
	protocol.CodeNothingToCommit:  http.StatusConflict,
	protocol.CodeUnmerged:         http.StatusConflict,
	protocol.CodeNoRemote:         http.StatusConflict,
	protocol.CodeDivergedBranch:   http.StatusConflict,
	protocol.CodePushRejected:     http.StatusConflict,
	protocol.CodePromptMismatch:   http.StatusConflict,
	protocol.CodeForeignBroker:    http.StatusConflict,
	protocol.CodeAnswered:         http.StatusConflict,
	protocol.CodeDisconnected:     http.StatusConflict,
	protocol.CodeGone:             http.StatusGone,
	protocol.CodeExpired:          http.StatusGone,
	protocol.CodeTooLarge:         http.StatusRequestEntityTooLarge,
	protocol.CodeUnsupportedMedia: http.StatusUnsupportedMediaType,
	protocol.CodeTooManyRequests:  http.StatusTooManyRequests,
	protocol.CodeInternal:         http.StatusInternalServerError,
	protocol.CodeBadGateway:       http.StatusBadGateway,
	protocol.CodeRemoteFailed:     http.StatusBadGateway,
	protocol.CodeUnavailable:      http.StatusServiceUnavailable,
	protocol.CodeTwoCopies:        http.StatusServiceUnavailable,
	protocol.CodeStorageFull:      http.StatusInsufficientStorage,
}

// StatusOf returns the HTTP status of a code; no other place decides it. A code that is not in
// the table is our mistake: 500.
func StatusOf(code protocol.Code) int {
	if status, ok := statusOf[code]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// codeOfStatus is for errors made by Echo itself.
func codeOfStatus(status int) protocol.Code {
	otherwise := protocol.CodeInternal
	if status >= http.StatusBadRequest && status < http.StatusInternalServerError {
		otherwise = protocol.CodeInvalid
	}
	return cmp.Or(protocol.CodeOfStatus(status), otherwise)
}
