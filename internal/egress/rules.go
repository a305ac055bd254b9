package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"bellhop/internal/lazyregexp"
	"bellhop/internal/netguard"
	"bellhop/protocol"
)

// Rules are the targets that a client may reach. The zero value allows none.
type Rules struct {
	names    []nameRule
	prefixes []prefixRule
}

type nameRule struct {
	name string // lower case; begins with a dot if all names below count too
	port uint16 // 0 = those of HTTP
}

type prefixRule struct {
	prefix netip.Prefix
	port   uint16 // 0 = every port
}

var hostName = lazyregexp.New(`^(\*\.)?([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$`)

// ParseRules parses entries NAME, *.NAME, ADDRESS or CIDR; all but the last may end with a
// port. CodeInvalid names the first wrong entry.
func ParseRules(entries []string) (Rules, error) {
	var r Rules
	for _, entry := range entries {
		if err := r.add(entry); err != nil {
			return Rules{}, err
		}
	}
	return r, nil
}

func (r *Rules) add(entry string) error {
	if prefix, err := netip.ParsePrefix(entry); err == nil {
		r.prefixes = append(r.prefixes, prefixRule{prefix: prefix.Masked()})
		return nil
	}
	host, port := entry, uint16(0)
	if h, p, err := net.SplitHostPort(entry); err == nil {
		number, err := strconv.ParseUint(p, 10, 16)
		if err != nil || number == 0 {
			return errEntry(entry)
		}
		host, port = h, uint16(number)
	}
	if address, err := netip.ParseAddr(host); err == nil {
		address = address.Unmap()
		r.prefixes = append(r.prefixes, prefixRule{prefix: netip.PrefixFrom(address, address.BitLen()), port: port})
		return nil
	}
	name := strings.ToLower(host)
	if !hostName.MatchString(name) || len(name) > 253 || onlyDigits(name) {
		return errEntry(entry)
	}
	r.names = append(r.names, nameRule{name: strings.TrimPrefix(name, "*"), port: port})
	return nil
}

// onlyDigits reports whether a name looks like an address in an unusual notation, such as
// 2130706433 or 127.1.
func onlyDigits(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	return err == nil
}

func errEntry(entry string) error {
	return &protocol.Error{
		Code: protocol.CodeInvalid, Message: fmt.Sprintf("%q is no target of the network", entry),
		Hint: "Write a name (example.org, *.example.org), an address or a CIDR (10.0.0.0/8); a name and an address may " +
			"have a port (:8443).",
	}
}

// check returns an error unless the target is listed, by its name or its address. Which
// addresses a name may lead to is guard's matter.
func (r Rules) check(host string, port uint16) error {
	if address, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		if r.listsAddress(netip.AddrPortFrom(address.WithZone(""), port)) {
			return nil
		}
		return netguard.ErrRefused
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if slices.ContainsFunc(r.names, func(rule nameRule) bool { return rule.covers(name, port) }) {
		return nil
	}
	return netguard.ErrRefused
}

// asked returns the rule that would list a target, if no rule does and it is for people to decide: a
// name with a dot. Addresses, and names without a dot, are for the operator alone.
func (r Rules) asked(target string) (nameRule, bool) {
	host, port, err := splitTarget(target)
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if err != nil || port == 0 || r.check(host, port) == nil || len(name) > 253 || !strings.Contains(name, ".") ||
		strings.HasPrefix(name, "*") || !hostName.MatchString(name) || onlyDigits(name) {
		return nameRule{}, false
	}
	return nameRule{name: name, port: port}, true
}

// target is NAME:PORT.
func (n nameRule) target() string { return net.JoinHostPort(n.name, strconv.Itoa(int(n.port))) }

func (n nameRule) covers(name string, port uint16) bool {
	if n.port != port && (n.port != 0 || port != 80 && port != 443) {
		return false
	}
	if strings.HasPrefix(n.name, ".") {
		return strings.HasSuffix(name, n.name)
	}
	return name == n.name
}

func (r Rules) listsAddress(target netip.AddrPort) bool {
	address := target.Addr().Unmap()
	return slices.ContainsFunc(r.prefixes, func(rule prefixRule) bool {
		return rule.prefix.Contains(address) && (rule.port == 0 || rule.port == target.Port())
	})
}
