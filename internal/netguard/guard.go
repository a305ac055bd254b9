package netguard

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
)

// ErrRefused is in the chain of every refusal; a retry would be refused too.
var ErrRefused = errors.New("target refused")

// Options extend the allowed targets beyond the public Internet over https.
type Options struct {
	// AllowCIDRs may be reached on every port. A metadata service of a cloud may be only if a prefix
	// is its address alone.
	AllowCIDRs []netip.Prefix
	// AllowLoopback allows loopback on ports from 1024, for development.
	AllowLoopback bool
	// AnyPort allows every port of the public Internet.
	AnyPort bool
}

// Guard checks targets. The zero value is not usable.
type Guard struct {
	allow    []netip.Prefix
	loopback bool
	public   *ssrf.Guardian
}

// Ports that may be reached on the public Internet.
var publicPorts = []uint16{443, 8443}

const firstUserPort = 1024

// New returns a Guard; zero Options allow only the public Internet.
func New(opts Options) *Guard {
	allow := make([]netip.Prefix, len(opts.AllowCIDRs))
	for i, prefix := range opts.AllowCIDRs {
		allow[i] = prefix.Masked()
	}
	// The library's registry does not include Azure's metadata and wire server.
	azure := netip.MustParsePrefix("168.63.129.16/32")
	ports := ssrf.WithPorts(publicPorts...)
	if opts.AnyPort {
		ports = ssrf.WithAnyPort()
	}
	return &Guard{
		allow:    allow,
		loopback: opts.AllowLoopback,
		public:   ssrf.New(ports, ssrf.WithDeniedV4Prefixes(azure)),
	}
}

// Control is for net.Dialer.Control: it checks the address about to be dialled.
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

// allows reports whether the operator allowed the target.
func (g *Guard) allows(target netip.AddrPort) bool {
	addr := target.Addr().Unmap()
	if g.loopback && addr.IsLoopback() && target.Port() >= firstUserPort {
		return true
	}
	isMetadata := isMetadataAddress(addr)
	return slices.ContainsFunc(g.allow, func(prefix netip.Prefix) bool {
		return prefix.Contains(addr) && (prefix.IsSingleIP() || !isMetadata)
	})
}

// allowsMetadata reports whether the operator allowed a metadata service by its address.
func (g *Guard) allowsMetadata() bool {
	return slices.ContainsFunc(g.allow, func(prefix netip.Prefix) bool {
		return prefix.IsSingleIP() && isMetadataAddress(prefix.Addr())
	})
}

// open reports whether the operator allowed any address, so that names that may resolve to one
// must be accepted.
func (g *Guard) open() bool { return g.loopback || len(g.allow) > 0 }
