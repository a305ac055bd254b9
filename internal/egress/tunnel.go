package egress

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"

	"bellhop/internal/netguard"
)

// tunnel answers CONNECT: it connects both ends and copies bytes until one of them ends.
func (s *Server) tunnel(w http.ResponseWriter, r *http.Request, client Client) {
	target := r.Host
	other, err := client.Rules.dial(r.Context(), "tcp", target)
	switch {
	case errors.Is(err, netguard.ErrRefused):
		s.refuse(w, r, client, target)
		return
	case err != nil:
		s.fail(w, r, err)
		return
	}
	defer other.Close()
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		http.Error(w, "Bellhop: no tunnel", http.StatusInternalServerError)
		return
	}
	conn, buffered, err := hijacker.Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	s.options.Log.DebugContext(r.Context(), "a program used the network", "client", client.Name, "target", target)
	if _, err := conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { copyHalf(other, buffered.Reader, other, conn) }) // bytes may have followed the request
	both.Go(func() { copyHalf(conn, other, other, conn) })
	both.Wait()
}

// copyHalf copies until the end of from, and passes the end on. If it cannot, it ends both
// connections.
func copyHalf(to net.Conn, from io.Reader, both ...net.Conn) {
	if _, err := io.Copy(to, from); err == nil {
		if half, ok := to.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
			return
		}
	}
	for _, conn := range both {
		_ = conn.Close()
	}
}
