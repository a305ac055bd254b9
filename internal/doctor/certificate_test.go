package doctor

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"
)

func TestACertificateThatEndsWithin14DaysIsAWarning(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	p := NewProber(func() time.Time { return now })
	for left, level := range map[time.Duration]Level{13 * 24 * time.Hour: Warning, 15 * 24 * time.Hour: OK} {
		shown := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{NotAfter: now.Add(left)}}}
		found := p.certificate("broker", &answer{tls: shown})
		if len(found) != 1 || found[0].Check != CheckTLS || found[0].Level != level {
			t.Errorf("%v before its end: %+v", left, found)
		}
	}
	if found := p.certificate("broker", &answer{}); found != nil {
		t.Errorf("without TLS: %+v", found)
	}
}
