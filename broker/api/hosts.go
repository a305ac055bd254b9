package api

import (
	"context"

	"bellhop/broker"
	"bellhop/protocol"
)

type hostsResponse struct {
	Hosts   []protocol.Host `json:"hosts"`
	Notices []string        `json:"notices,omitempty"` // about the broker itself
}

type deleteHostRequest struct {
	ID    string `param:"id" json:"-"`
	Force bool   `query:"force" json:"-"`
}

type updateHostRequest struct {
	ID string `param:"id" json:"-"`
	broker.HostPatch
}

func (a *API) listHosts(ctx context.Context, _ *struct{}) (*hostsResponse, error) {
	list, err := a.Hosts.List(ctx, a.Auth.Caller(ctx))
	if err != nil {
		return nil, err
	}
	response := &hostsResponse{Hosts: orEmpty(list)}
	if notice := a.Disk.Notice(); notice != "" {
		response.Notices = append(response.Notices, notice)
	}
	if a.CopyNotice != nil {
		if notice := a.CopyNotice(); notice != "" {
			response.Notices = append(response.Notices, notice)
		}
	}
	return response, nil
}

func (a *API) createHost(ctx context.Context, req *broker.HostRequest) (*protocol.Host, error) {
	return a.Hosts.Create(ctx, a.Auth.Caller(ctx), req)
}

func (a *API) updateHost(ctx context.Context, req *updateHostRequest) (*protocol.Host, error) {
	return a.Hosts.Update(ctx, a.Auth.Caller(ctx), req.ID, req.HostPatch)
}

func (a *API) deleteHost(ctx context.Context, req *deleteHostRequest) (*protocol.SuccessResponse, error) {
	return success(a.Hosts.Delete(ctx, a.Auth.Caller(ctx), req.ID, req.Force))
}
