package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"bellhop/internal/netguard"
)

const dialTimeout = 15 * time.Second

// public allows the addresses of the public Internet.
var public = netguard.New(netguard.Options{AnyPort: true})

// dial connects to a target of the rules. The name is checked first, and then the address that
// is really dialled, so that a name cannot lead into a private network.
func (r Rules) dial(ctx context.Context, network, target string) (net.Conn, error) {
	host, port, err := splitTarget(target)
	if err != nil {
		return nil, err
	}
	if err := r.check(host, port); err != nil {
		return nil, fmt.Errorf("%w: %s is not listed", err, target)
	}
	dialer := &net.Dialer{Timeout: dialTimeout, Control: r.control}
	return dialer.DialContext(ctx, network, target)
}

func splitTarget(target string) (host string, port uint16, err error) {
	host, portText, err := net.SplitHostPort(target)
	if err == nil {
		var number uint64
		number, err = strconv.ParseUint(portText, 10, 16)
		port = uint16(number)
	}
	if err != nil {
		return "", 0, fmt.Errorf("%w: %s is no target", netguard.ErrRefused, target)
	}
	return host, port, nil
}

// control is for net.Dialer.Control.
func (r Rules) control(network, address string, c syscall.RawConn) error {
	if target, err := netip.ParseAddrPort(address); err == nil && r.listsAddress(target) {
		return nil
	}
	return public.Control(network, address, c)
}
