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
	"bellhop/internal/replacefile"
	"bellhop/protocol"
)

const localVariable = "BELLHOP_HOST_LOCAL_LISTEN"

// listenLocal binds the listener for programs in workspaces. Port 0 chooses a free
// port and stores it, because programs that outlive the host know it: the next
// start uses the same port if it is free.
func (c HostConfig) listenLocal() (net.Listener, error) {
	address := c.LocalListen
	if address == "" {
		address = "127.0.0.1:0"
	}
	wanted, err := netip.ParseAddrPort(address)
	if err != nil || !wanted.Addr().IsLoopback() {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: localVariable + " must be an address and port of the loopback",
			Hint: "Use for example 127.0.0.1:0, which chooses a free port. The listener is for programs on this machine only.",
		}
	}
	if wanted.Port() != 0 {
		return listen(localVariable, address)
	}
	path := filepath.Join(c.Data, "local-port")
	if port := readPort(path); port != 0 {
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
		err = replacefile.Write(path, []byte(port+"\n"), 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// readPort returns 0 if no valid port is stored.
func readPort(path string) uint16 {
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

// newLocalServer creates the server for programs in workspaces.
func (c HostConfig) newLocalServer(
	listener net.Listener, host *agenthost.Host, workspaces *workspace.Manager, records string,
) *server {
	api := &local.Server{Host: host, Workspaces: workspaceAdapter{workspaces}, Records: records, Version: "1", Log: c.Log}
	handler := httpapi.New(httpapi.Options{Log: c.Log})
	api.Routes(handler)
	srv := newServer(listener, handler, c.Log)
	srv.http.RegisterOnShutdown(api.End)
	return srv
}

// workspaceAdapter implements the workspaces of package local with a
// workspace.Manager.
type workspaceAdapter struct{ *workspace.Manager }

func (m workspaceAdapter) Info(ctx context.Context, path string) (agenthost.WorkspaceInfo, error) {
	info, err := m.Manager.Info(ctx, path)
	return briefInfo(info), err
}

func (m workspaceAdapter) Create(ctx context.Context, project, name, owner string) (agenthost.WorkspaceInfo, error) {
	info, err := m.Manager.Create(ctx, project, name, owner)
	return briefInfo(info), err
}

// Named implements agenthost.NamedWorkspaces.
func (m workspaceAdapter) Named(ctx context.Context, owner string) ([]protocol.Workspace, error) {
	infos, err := m.Manager.Named(ctx, owner)
	if err != nil {
		return nil, err
	}
	out := make([]protocol.Workspace, 0, len(infos))
	for i := range infos {
		info := &infos[i]
		metadata, err := m.Metadata(ctx, info.Path)
		if protocol.CodeOf(err) == protocol.CodeNotFound { // deleted in the meantime
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, protocol.Workspace{
			Name: info.Name, Project: info.Project, Branch: info.Branch, Dirty: info.Dirty, Unpushed: info.Unpushed,
			Metadata: local.Visible(metadata), CreatedAt: info.CreatedAt,
			CreatedBy: local.CreatedBy(metadata), UsedBy: info.UsedBy,
		})
	}
	return out, nil
}

// describe says what a workspace holds, for the status of the host.
func (m workspaceAdapter) describe(ctx context.Context, path string) (*agenthost.WorkspaceDescription, error) {
	info, err := m.Look(ctx, path)
	if err != nil {
		return nil, err
	}
	notes, err := m.Metadata(ctx, path)
	if err != nil {
		return nil, err
	}
	return &agenthost.WorkspaceDescription{Branch: info.Branch, Dirty: info.Dirty, Metadata: local.Visible(notes)}, nil
}

func briefInfo(info workspace.Info) agenthost.WorkspaceInfo {
	return agenthost.WorkspaceInfo{
		Path: info.Path, Project: info.Project, Branch: info.Branch, Dirty: info.Dirty, UsedBy: info.UsedBy,
	}
}
