package api

import (
	"context"
	"time"

	"bellhop/internal/doctor"
	"bellhop/protocol"
)

// doctorLimit bounds a run of the doctor, whose checks take at most 10 s.
const doctorLimit = 15 * time.Second

// doctor runs the checks of `bellhop doctor`. Requests at the same time share one run, which
// continues when their callers leave. CodeForbidden: the caller is no administrator.
func (a *API) doctor(ctx context.Context, _ *struct{}) (*doctor.Report, error) {
	if !a.Auth.Caller(ctx).Admin {
		return nil, protocol.Errorf(protocol.CodeForbidden, "Only administrators run the doctor")
	}
	run := a.diagnosis.DoChan("", func() (any, error) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), doctorLimit)
		defer cancel()
		return a.Doctor(limited), nil
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case result := <-run:
		return result.Val.(*doctor.Report), result.Err
	}
}
