package servers_test

import (
	"net"
	"os"
	"testing"

	"bellhop/internal/servers"
)

func TestAPortIsHeldUntilItIsReleased(t *testing.T) {
	t.Parallel()
	ports := servers.NewPorts()
	port, err := ports.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if ports.Retake(t.Context(), port) {
		t.Error("a held port was handed out")
	}
	ports.Release(port)
	if !ports.Retake(t.Context(), port) {
		t.Error("a released port was not handed out")
	}
}

func TestAPortInUseIsNotRetaken(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if servers.NewPorts().Retake(t.Context(), listener.Addr().(*net.TCPAddr).Port) {
		t.Error("the port of another was handed out")
	}
}

func TestALaterProcessWithTheSamePidIsNotTheOwner(t *testing.T) {
	t.Parallel()
	err := servers.NewPorts().Verify(1, servers.Owner{Pid: os.Getpid(), Start: 1})
	if err == nil {
		t.Error("the pid alone was believed")
	}
}
