package netguard

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
)

// ErrRefused is in the chain of every refusal; trying again is useless.
var ErrRefused = errors.New("target refused")

// Options say what the operator allows beyond the public Internet over https.
type Options struct {
	// AllowCIDRs may be reached on every port.
	AllowCIDRs []netip.Prefix
	// AllowLoopback is for development: loopback on ports from 1024.
	AllowLoopback bool
}

// Guard judges targets. Its zero value is not usable.
type Guard struct {
	allow    []netip.Prefix
	loopback bool
	public   *ssrf.Guardian
}

// Ports that may be reached on the public Internet.
var publicPorts = []uint16{443, 8443}

const firstUserPort = 1024

// New returns a Guard; zero Options allow the public Internet alone.
func New(opts Options) *Guard {
	allow := make([]netip.Prefix, len(opts.AllowCIDRs))
	for i, prefix := range opts.AllowCIDRs {
		allow[i] = prefix.Masked()
	}
	// The registry knows nothing of Azure's metadata and wire server.
	azure := netip.MustParsePrefix("168.63.129.16/32")
	return &Guard{
		allow:    allow,
		loopback: opts.AllowLoopback,
		public:   ssrf.New(ssrf.WithPorts(publicPorts...), ssrf.WithDeniedV4Prefixes(azure)),
	}
}

// Control is a net.Dialer's Control: it sees the address about to be dialled.
func (g *Guard) Control(network, address string, c syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s is no address", ErrRefused, address)
	}
	if (network == "tcp4" || network == "tcp6") && g.allows(target) {
		return nil
	}
	if err := g.public.Safe(network, address, c); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrRefused, address, err)
	}
	return nil
}

// allows reports what the operator allowed.
func (g *Guard) allows(target netip.AddrPort) bool {
	addr := target.Addr().Unmap()
	if g.loopback && addr.IsLoopback() && target.Port() >= firstUserPort {
		return true
	}
	return slices.ContainsFunc(g.allow, func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
}

// open reports that the operator allowed something, so that a name may lead
// there.
func (g *Guard) open() bool { return g.loopback || len(g.allow) > 0 }
