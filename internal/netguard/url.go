package netguard

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"bellhop/protocol"
)

const maxURL = 2048

// CheckURL checks a URL when it is saved, without resolving its name: https on port 443 or 8443
// (http and other ports if the operator allowed addresses), no user, and as host a name or a
// canonical literal of an allowed address. Names that are known to lead to this machine, to a private
// network or to a metadata service are refused here already. A refusal is a CodeInvalid error with
// ErrRefused in its chain.
func (g *Guard) CheckURL(raw string) error {
	if err := g.checkURL(raw); err != nil {
		return &protocol.Error{
			Code:    protocol.CodeInvalid,
			Message: "This URL is not allowed: " + err.Error(),
			Hint:    "Use an https URL of a public host; an operator can allow more networks (BELLHOP_OUTBOUND_ALLOW)",
			Err:     ErrRefused,
		}
	}
	return nil
}

// checkURL returns errors that never quote the URL: it may contain a password.
func (g *Guard) checkURL(raw string) error {
	if len(raw) > maxURL {
		return fmt.Errorf("it is longer than %d bytes", maxURL)
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return errors.New("it cannot be parsed")
	case u.User != nil:
		return errors.New("it holds a user or password")
	case u.Scheme != "https" && (u.Scheme != "http" || !g.open()):
		return errors.New("its scheme is not https")
	case u.Hostname() == "" || u.Opaque != "":
		return errors.New("it has no host")
	}
	port, err := portOf(u)
	if err != nil {
		return err
	}
	return g.checkHost(strings.ToLower(u.Hostname()), port)
}

func portOf(u *url.URL) (uint16, error) {
	switch {
	case u.Port() != "":
		port, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil || port == 0 {
			return 0, errors.New("its port is no port")
		}
		return uint16(port), nil
	case u.Scheme == "http":
		return 80, nil
	default:
		return 443, nil
	}
}

func (g *Guard) checkHost(host string, port uint16) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return errors.New("its address has a zone")
		}
		network := "tcp6"
		if addr.Is4() {
			network = "tcp4"
		}
		if err := g.Control(network, netip.AddrPortFrom(addr, port).String(), nil); err != nil {
			return errors.New("its address or port is not public")
		}
		return nil
	}
	name := strings.TrimSuffix(host, ".")
	switch {
	case !hostName(name):
		return errors.New("its host is neither a name nor an address")
	case endsInNumber(name):
		return errors.New("its host is an address in an unusual form")
	case (name == "localhost" || strings.HasSuffix(name, ".localhost")) && !g.loopback:
		return errors.New("its host is this machine")
	case IsMetadataName(name) && !g.allowsMetadata():
		return errors.New("its host is the metadata service of a cloud")
	case strings.HasSuffix(name, ".internal") && !g.open(): // ICANN reserves it for private networks
		return errors.New("its host is in a private network")
	case !g.open() && !slices.Contains(publicPorts, port):
		return fmt.Errorf("its port is none of %v", publicPorts)
	}
	return nil
}

func hostName(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for _, c := range []byte(name) {
		if c != '.' && c != '-' && c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return !strings.Contains("."+name+".", "..")
}

// endsInNumber is the URL standard's test for hosts that resolvers and browsers read as IPv4
// addresses, such as 2130706433, 0x7f.1 and 0177.0.0.1.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(last, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}
