package app

import (
	"net"
	"strconv"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// minHostPassword holds for hosts that other machines reach: the password opens sessions, whose
// agents run commands.
const minHostPassword = 16

func checkHostPassword(listener net.Addr, password seal.Secret) error {
	if at, ok := listener.(*net.TCPAddr); ok && at.IP.IsLoopback() || len(password.Reveal()) >= minHostPassword {
		return nil
	}
	return &protocol.Error{
		Code: protocol.CodeInvalid,
		Message: "BELLHOP_HOST_PASSWORD has fewer than " + strconv.Itoa(minHostPassword) +
			" characters, and other machines reach " + listener.String(),
		Hint: "Make one with 'openssl rand -hex 32' and give it to the brokers with 'bellhop hosts update', or listen on " +
			"127.0.0.1 behind a proxy",
	}
}
