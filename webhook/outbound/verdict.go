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

// verdict is what an attempt means for its delivery.
type verdict struct {
	next    next
	after   time.Duration // of again: 0 = as scheduled
	reason  string
	disable bool
}

type next int

const (
	again next = iota
	done
	fail
	atOnce // again, now: the attempt was cut short by us
)

// judgeStatus is the table of OUT-5.
func judgeStatus(status int, header http.Header, now time.Time) verdict {
	reason := "status " + strconv.Itoa(status)
	switch {
	case status >= 200 && status < 300:
		return verdict{next: done}
	case status == http.StatusGone:
		return verdict{next: fail, reason: reason, disable: true}
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests,
		status == http.StatusServiceUnavailable:
		after, _ := retryafter.Parse(header.Get("Retry-After"), now)
		return verdict{next: again, after: after, reason: reason}
	case status >= 500 && status < 600:
		return verdict{next: again, reason: reason}
	default: // 3xx is never followed; other 4xx do not mend themselves
		return verdict{next: fail, reason: reason}
	}
}

// judgeError is OUT-5 for exchanges without a whole answer.
func judgeError(err error) verdict {
	fault := faultOf(err)
	switch fault {
	case FaultCertificate, FaultTarget:
		return verdict{next: fail, reason: fault}
	case FaultInterrupted:
		return verdict{next: atOnce, reason: fault}
	default:
		return verdict{next: again, reason: fault}
	}
}

func faultOf(err error) string {
	var dns *net.DNSError
	var network net.Error
	switch {
	case errors.Is(err, netguard.ErrRefused):
		return FaultTarget
	case isCertificate(err):
		return FaultCertificate
	case errors.Is(err, errInterrupted):
		return FaultInterrupted
	case errors.As(err, &dns):
		return FaultDNS
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return FaultTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return FaultRefused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return FaultReset
	default:
		return FaultNetwork
	}
}

func isCertificate(err error) bool {
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid)
}
