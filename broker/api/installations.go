package api

import (
	"context"

	"bellhop/protocol"
)

type hostRequest struct {
	ID string `param:"id" json:"-"`
}

type installRequest struct {
	ID string `param:"id" json:"-"`
	protocol.InstallRequest
}

type installationRequest struct {
	ID      string `param:"id" json:"-"`
	Program string `param:"program" json:"-"`
}

func (a *API) listInstallations(ctx context.Context, req *hostRequest) (*protocol.InstallationList, error) {
	return a.Installations.List(ctx, a.Auth.Caller(ctx), req.ID)
}

func (a *API) install(ctx context.Context, req *installRequest) (*protocol.Installation, error) {
	return a.Installations.Start(ctx, a.Auth.Caller(ctx), req.ID, &req.InstallRequest)
}

func (a *API) cancelInstallation(ctx context.Context, req *installationRequest) (*protocol.Installation, error) {
	return a.Installations.Cancel(ctx, a.Auth.Caller(ctx), req.ID, req.Program)
}
