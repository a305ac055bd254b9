package app

import (
	"net"
	"strings"
	"testing"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

func TestAHostThatOthersReachNeedsALongPassword(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		address, password string
		refused           bool
	}{
		{"127.0.0.1", "p", false},
		{"::1", "p", false},
		{"0.0.0.0", strings.Repeat("p", 15), true},
		{"::", strings.Repeat("p", 15), true},
		{"192.0.2.7", "p", true},
		{"0.0.0.0", strings.Repeat("p", 16), false},
	} {
		err := checkHostPassword(&net.TCPAddr{IP: net.ParseIP(c.address), Port: 7701}, seal.NewSecret(c.password))
		if got := protocol.CodeOf(err) == protocol.CodeInvalid; got != c.refused {
			t.Errorf("%d characters on %s: %v", len(c.password), c.address, err)
		}
		if err != nil && strings.Contains(err.Error(), strings.Repeat("p", 15)) {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}
