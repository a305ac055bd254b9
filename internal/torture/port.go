//go:build linux

package torture

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

var reserved struct {
	sync.Mutex
	ports map[int]bool
}

// freePort returns a port without a listener. It is below the range of ports for outgoing
// connections, so that it is still free when a killed server restarts.
func freePort(ctx context.Context) (int, error) {
	reserved.Lock()
	defer reserved.Unlock()
	if reserved.ports == nil {
		reserved.ports = map[int]bool{}
	}
	for range 1000 {
		port := 20000 + rand.IntN(12000)
		if reserved.ports[port] {
			continue
		}
		if l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			reserved.ports[port] = true
			return port, l.Close()
		}
	}
	return 0, errors.New("no free port")
}

func freeAddr(ctx context.Context) (string, error) {
	port, err := freePort(ctx)
	return "127.0.0.1:" + strconv.Itoa(port), err
}
