package api

import (
	"context"
	"net/http"

	"bellhop/protocol"
)

// announced is an announcement; it is new unless the request was a repetition.
type announced struct {
	*protocol.Announcement
	isNew bool
}

// HTTPStatus implements the interface of httpapi.Handle.
func (a *announced) HTTPStatus() int {
	if a.isNew {
		return http.StatusCreated
	}
	return http.StatusOK
}

func (a *API) announce(ctx context.Context, req *protocol.AnnounceRequest) (*announced, error) {
	made, isNew, err := a.Announcements.Announce(ctx, a.Auth.Caller(ctx), req)
	if err != nil {
		return nil, err
	}
	return &announced{made, isNew}, nil
}

func (a *API) listAnnouncements(ctx context.Context, _ *struct{}) (*protocol.AnnouncementList, error) {
	list, err := a.Announcements.List(ctx)
	if err != nil {
		return nil, err
	}
	return &protocol.AnnouncementList{Announcements: orEmpty(list)}, nil
}

type announcementRequest struct {
	ID string `param:"id" json:"-"`
}

func (a *API) cancelAnnouncement(ctx context.Context, req *announcementRequest) (*protocol.SuccessResponse, error) {
	return success(a.Announcements.Cancel(ctx, a.Auth.Caller(ctx), req.ID))
}
