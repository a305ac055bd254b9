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
	host, portText, err := net.SplitHostPort(target)
	if err != nil {
		return nil, fmt.Errorf("%w: %s is no target", netguard.ErrRefused, target)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%w: %s is no target", netguard.ErrRefused, target)
	}
	if err := r.check(host, uint16(port)); err != nil {
		return nil, fmt.Errorf("%w: %s is not listed", err, target)
	}
	dialer := &net.Dialer{Timeout: dialTimeout, Control: r.control}
	return dialer.DialContext(ctx, network, target)
}

// control is for net.Dialer.Control.
func (r Rules) control(network, address string, c syscall.RawConn) error {
	if target, err := netip.ParseAddrPort(address); err == nil && r.listsAddress(target) {
		return nil
	}
	return public.Control(network, address, c)
}
