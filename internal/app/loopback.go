package app

import (
	"context"
	"errors"
	"net"
	"syscall"

	"bellhop/protocol"
)

// portAttempts is how many free ports are tried, if the second address of each is in use.
const portAttempts = 8

// listenForBrowsers is listen for a broker. If first is on 127.0.0.1, second is on the same port of ::1, and the
// other way around. Browsers may try that address first for httpapi.ConsoleName, and would send the
// console's cookie to a program that listens there: if there is one, listenForBrowsers fails. A machine without the
// second address needs no second listener; it is nil then.
func listenForBrowsers(variable, address string) (first, second net.Listener, err error) {
	_, port, _ := net.SplitHostPort(address)
	for attempt := 1; ; attempt++ {
		if first, err = listen(variable, address); err != nil {
			return nil, nil, err
		}
		at := otherLoopback(first.Addr())
		if at == "" {
			return first, nil, nil
		}
		if second, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", at); err == nil {
			return first, second, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return first, nil, nil
		}
		if port != "0" || attempt == portAttempts {
			return nil, nil, errors.Join(&protocol.Error{
				Code: protocol.CodeInvalid, Message: "another program listens on " + at,
				Hint: "Browsers could send the console's cookie to it. Stop it, or choose another port with " + variable + ".",
				Err:  err,
			}, first.Close())
		}
		_ = first.Close() // a free port was asked for, and this one is free at one address only
	}
}

// otherLoopback returns the address of the second listener, "" for none.
func otherLoopback(first net.Addr) string {
	tcp, ok := first.(*net.TCPAddr)
	if !ok {
		return ""
	}
	second := net.TCPAddr{Port: tcp.Port}
	switch {
	case tcp.IP.Equal(net.IPv4(127, 0, 0, 1)):
		second.IP = net.IPv6loopback
	case tcp.IP.Equal(net.IPv6loopback):
		second.IP = net.IPv4(127, 0, 0, 1)
	default:
		return ""
	}
	return second.String()
}
