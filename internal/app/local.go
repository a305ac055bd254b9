package app

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"bellhop/agenthost"
	"bellhop/agenthost/local"
	"bellhop/agenthost/workspace"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

const localVariable = "BELLHOP_HOST_LOCAL_LISTEN"

// listenLocal binds the listener for programs in workspaces. A free port is
// looked for once: programs that outlive this host know it, so the next start
// takes it again if it can.
func (c HostConfig) listenLocal() (net.Listener, error) {
	address := c.LocalListen
	if address == "" {
		address = "127.0.0.1:0"
	}
	wanted, err := netip.ParseAddrPort(address)
	if err != nil || !wanted.Addr().IsLoopback() {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: localVariable + " must be an address and port of the loopback",
			Hint: "Such as 127.0.0.1:0, which takes a free port. Only programs on this machine have business there.",
		}
	}
	if wanted.Port() != 0 {
		return listen(localVariable, address)
	}
	path := filepath.Join(c.Data, "local-port")
	if port := keptPort(path); port != 0 {
		if listener, err := listen(localVariable, netip.AddrPortFrom(wanted.Addr(), port).String()); err == nil {
			return listener, nil
		}
	}
	listener, err := listen(localVariable, address)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err == nil {
		err = writeFile(path, []byte(port+"\n"))
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// keptPort is 0 when there is none that can be used.
func keptPort(path string) uint16 {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	port, err := strconv.ParseUint(strings.TrimSpace(string(content)), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(port)
}

// localServer answers the programs in the workspaces.
func (c HostConfig) localServer(listener net.Listener, host *agenthost.Host, workspaces *workspace.Manager, records string) *server {
	end := &local.Server{Host: host, Workspaces: managed{workspaces}, Records: records, Version: "1", Log: c.Log}
	handler := httpapi.New(httpapi.Options{Log: c.Log})
	end.Routes(handler)
	srv := newServer(listener, handler, c.Log)
	srv.http.RegisterOnShutdown(end.End)
	return srv
}

// managed is a workspace.Manager as programs in workspaces may use it.
type managed struct{ *workspace.Manager }

func (m managed) Info(ctx context.Context, path string) (agenthost.WorkspaceInfo, error) {
	info, err := m.Manager.Info(ctx, path)
	return brief(info), err
}

func (m managed) Create(ctx context.Context, project, name string) (agenthost.WorkspaceInfo, error) {
	info, err := m.Manager.Create(ctx, project, name)
	return brief(info), err
}

func brief(info workspace.Info) agenthost.WorkspaceInfo {
	return agenthost.WorkspaceInfo{Path: info.Path, Project: info.Project, Branch: info.Branch, Dirty: info.Dirty}
}
