package api

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

const maxLogin = 8 << 10

type loginRequest struct {
	Email    string `json:"email,omitempty"`
	Password string `json:"password,omitempty"`
	Code     string `json:"code,omitempty"` // of the second factor
	Link     string `json:"link,omitempty"` // instead of the others
}

type userResponse struct {
	User user `json:"user"`
}

type user struct {
	ID        string    `json:"id"`
	Email     string    `json:"email"`
	Admin     bool      `json:"admin"`
	CreatedAt time.Time `json:"createdAt"`
}

// login sets a cookie, which an httpapi.Handle handler cannot do.
func (a *API) login(c echo.Context) error {
	raw, err := httpapi.ReadBody(c, maxLogin)
	if err != nil {
		return err
	}
	var req loginRequest
	if err := protocol.Decode(raw, &req); err != nil {
		return err
	}
	var found *broker.User
	if req.Link != "" {
		found, err = a.Auth.SignInByLink(c.Response(), c.Request(), c.RealIP(), req.Link)
	} else {
		found, err = a.Auth.SignInWithCode(c.Response(), c.Request(), c.RealIP(), req.Email, req.Password, req.Code)
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, showUser(found))
}

func (a *API) logout(c echo.Context) error {
	if err := a.Auth.SignOut(c.Response(), c.Request(), c.RealIP()); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, protocol.SuccessResponse{Success: true})
}

type passwordRequest struct {
	Current  string `json:"current"`
	Password string `json:"password"`
}

// changePassword sets a cookie, which an httpapi.Handle handler cannot do.
func (a *API) changePassword(c echo.Context) error {
	raw, err := httpapi.ReadBody(c, maxLogin)
	if err != nil {
		return err
	}
	var req passwordRequest
	if err := protocol.Decode(raw, &req); err != nil {
		return err
	}
	if err := a.Auth.ChangePassword(c.Response(), c.Request(), c.RealIP(), req.Current, req.Password); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, protocol.SuccessResponse{Success: true})
}

func (a *API) me(ctx context.Context, _ *struct{}) (*userResponse, error) {
	found, err := a.Auth.Me(ctx)
	if err != nil {
		return nil, err
	}
	return showUser(found), nil
}

func showUser(u *broker.User) *userResponse {
	return &userResponse{User: user{ID: u.ID, Email: u.Email, Admin: u.Admin, CreatedAt: u.CreatedAt.UTC()}}
}
