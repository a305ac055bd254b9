package api

import (
	"context"

	"bellhop/protocol"
)

// Installations installs agents' programs for administrators of brokers; *setup.Installations implements it.
type Installations interface {
	List() *protocol.InstallationList
	Start(program string) (*protocol.Installation, error)
	Cancel(program string) (*protocol.Installation, error)
}

type programRequest struct {
	Program string `param:"program" json:"-"`
}

// listInstallations answers also where nothing can be installed.
func (a *API) listInstallations(context.Context, *struct{}) (*protocol.InstallationList, error) {
	if a.Installations == nil {
		return &protocol.InstallationList{Installations: []protocol.Installation{}}, nil
	}
	return a.Installations.List(), nil
}

// install responds when the installation has begun.
func (a *API) install(_ context.Context, req *protocol.InstallRequest) (*protocol.Installation, error) {
	if a.Installations == nil {
		return nil, protocol.Errorf(protocol.CodeForbidden, "This host installs no programs")
	}
	return a.Installations.Start(req.Program)
}

// cancelInstallation responds before the installation has ended.
func (a *API) cancelInstallation(_ context.Context, req *programRequest) (*protocol.Installation, error) {
	if a.Installations == nil {
		return nil, protocol.Errorf(protocol.CodeForbidden, "This host installs no programs")
	}
	return a.Installations.Cancel(req.Program)
}
