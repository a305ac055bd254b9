package api

import (
	"context"
	"time"

	"bellhop/protocol"
)

// secondFactor is what users see of their own. EnabledAt is null without one.
type secondFactor struct {
	EnabledAt     *time.Time `json:"enabledAt"`
	RecoveryCodes int        `json:"recoveryCodes"` // how many are left
}

type reauthenticateRequest struct {
	Password string `json:"password"`
}

type codeRequest struct {
	Code string `json:"code"`
}

type changeFactorRequest struct {
	Password string `json:"password"`
	Code     string `json:"code"`
}

// enrolmentResponse has the secret twice: as text, and as the content of a QR code.
type enrolmentResponse struct {
	Secret string `json:"secret"`
	URI    string `json:"uri"`
}

type recoveryCodesResponse struct {
	RecoveryCodes []string `json:"recoveryCodes"`
}

func (a *API) getSecondFactor(ctx context.Context, _ *struct{}) (*secondFactor, error) {
	found, err := a.Auth.SecondFactor(ctx)
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return &secondFactor{}, nil
	}
	if err != nil {
		return nil, err
	}
	return &secondFactor{EnabledAt: utc(found.ConfirmedAt), RecoveryCodes: found.RecoveryCodes}, nil
}

func (a *API) beginSecondFactor(ctx context.Context, req *reauthenticateRequest) (*enrolmentResponse, error) {
	made, err := a.Auth.BeginSecondFactor(ctx, req.Password)
	if err != nil {
		return nil, err
	}
	return &enrolmentResponse{Secret: made.Secret.Reveal(), URI: made.URI.Reveal()}, nil
}

func (a *API) confirmSecondFactor(ctx context.Context, req *codeRequest) (*recoveryCodesResponse, error) {
	return showRecoveryCodes(a.Auth.ConfirmSecondFactor(ctx, req.Code))
}

func (a *API) renewRecoveryCodes(ctx context.Context, req *changeFactorRequest) (*recoveryCodesResponse, error) {
	return showRecoveryCodes(a.Auth.RenewRecoveryCodes(ctx, req.Password, req.Code))
}

func showRecoveryCodes(codes []string, err error) (*recoveryCodesResponse, error) {
	if err != nil {
		return nil, err
	}
	return &recoveryCodesResponse{RecoveryCodes: codes}, nil
}

func (a *API) disableSecondFactor(ctx context.Context, req *changeFactorRequest) (*protocol.SuccessResponse, error) {
	return success(a.Auth.DisableSecondFactor(ctx, req.Password, req.Code))
}

func (a *API) resetSecondFactor(ctx context.Context, req *userRequest) (*protocol.SuccessResponse, error) {
	return success(a.Auth.ResetSecondFactor(ctx, a.Auth.Caller(ctx), req.ID))
}
