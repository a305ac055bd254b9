package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"bellhop/internal/netguard"
	"bellhop/internal/retryafter"
)

// attemptOutcome is the effect of an attempt on its delivery.
type attemptOutcome struct {
	next       nextStep
	retryAfter time.Duration // only for retryLater; 0 = by the schedule
	reason     string
	disable    bool
}

type nextStep int

const (
	retryLater nextStep = iota
	succeed
	failForGood
	retryNow // the worker cancelled the attempt
)

// outcomeOfStatus applies the table of OUT-5.
func outcomeOfStatus(status int, header http.Header, now time.Time) attemptOutcome {
	reason := "status " + strconv.Itoa(status)
	switch {
	case status >= 200 && status < 300:
		return attemptOutcome{next: succeed}
	case status == http.StatusGone:
		return attemptOutcome{next: failForGood, reason: reason, disable: true}
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests,
		status == http.StatusServiceUnavailable:
		retryAfter, _ := retryafter.Parse(header.Get("Retry-After"), now)
		return attemptOutcome{next: retryLater, retryAfter: retryAfter, reason: reason}
	case status >= 500 && status < 600:
		return attemptOutcome{next: retryLater, reason: reason}
	default: // redirects are never followed; a retry would not change another 4xx
		return attemptOutcome{next: failForGood, reason: reason}
	}
}

// outcomeOfError applies OUT-5 to attempts without a complete response.
func outcomeOfError(err error) attemptOutcome {
	fault := faultOf(err)
	switch fault {
	case FaultCertificate, FaultTarget:
		return attemptOutcome{next: failForGood, reason: fault}
	case FaultInterrupted:
		return attemptOutcome{next: retryNow, reason: fault}
	default:
		return attemptOutcome{next: retryLater, reason: fault}
	}
}

func faultOf(err error) string {
	var dns *net.DNSError
	var network net.Error
	switch {
	case errors.Is(err, netguard.ErrRefused):
		return FaultTarget
	case isCertificateError(err):
		return FaultCertificate
	case errors.Is(err, errInterrupted):
		return FaultInterrupted
	case errors.As(err, &dns):
		return FaultDNS
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return FaultTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return FaultRefused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return FaultReset
	default:
		return FaultNetwork
	}
}

func isCertificateError(err error) bool {
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid)
}
