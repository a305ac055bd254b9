package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/agenthost"
	"bellhop/internal/diskspace"
	"bellhop/internal/httpapi"
	"bellhop/internal/sse"
	"bellhop/protocol"
)

// healthz reports that the process responds.
func (a *API) healthz(context.Context, *struct{}) (*protocol.Readiness, error) {
	return &protocol.Readiness{Status: "ok"}, nil
}

// readyz reports whether turns can be started: 503, or 507 storage_full when the
// journal cannot be written.
func (a *API) readyz(ctx context.Context, _ *struct{}) (*protocol.Readiness, error) {
	var err error
	if a.Ready != nil {
		err = a.Ready(ctx)
	}
	return httpapi.Readiness(err, "The host is not ready", a.Disk.Low)
}

// hostStatus is the host's status with its version and that of its disk.
type hostStatus struct {
	*agenthost.HostStatus `openapi:"always"`

	Version string           `json:"version,omitempty"` // of the host's program
	Disk    *diskspace.Space `json:"disk,omitempty"`    // absent when it cannot be measured
}

// status describes the workspaces too, unlike the frames of statusEvents, which come at every change.
func (a *API) status(ctx context.Context, _ *struct{}) (*hostStatus, error) {
	status, err := a.currentStatus(ctx)
	if err == nil && a.Describe != nil {
		operator, _ := ctx.Value(byOperator{}).(bool)
		a.Host.DescribeWorkspaces(ctx, status.HostStatus, operator, a.Describe)
	}
	return status, err
}

func (a *API) currentStatus(ctx context.Context) (*hostStatus, error) {
	status, err := a.Host.Status(ctx)
	if err != nil {
		return nil, err
	}
	if operator, _ := ctx.Value(byOperator{}).(bool); !operator {
		a.Host.HideKeyed(status)
	}
	if notice := a.Disk.Notice(); notice != "" {
		status.Notices = append(status.Notices, notice)
	}
	shown := &hostStatus{HostStatus: status, Version: a.Version}
	if space, err := a.Disk.Space(); err == nil {
		shown.Disk = &space
	}
	return shown, nil
}

// offer answers with the agents and projects of the host.
func (a *API) offer(ctx context.Context, _ *struct{}) (*protocol.HostOffer, error) {
	if a.Offer == nil {
		return nil, protocol.Errorf(protocol.CodeNotFound, "The host does not describe its agents")
	}
	offer, err := a.Offer(ctx)
	if err != nil {
		return nil, err
	}
	shown := *offer // the offer is used again for other requests
	shown.Notices = a.channels.ownNotices()
	return &shown, nil
}

// statusEvents sends the status immediately and after changes, at most once in
// StatusEvery. Every frame has the complete status, so a stream needs no resume.
func (a *API) statusEvents(c echo.Context) error {
	ctx := c.Request().Context()
	watch := a.Host.WatchStatus()
	defer watch.Close()
	w := sse.NewWriter(c.Response(), sse.WriterOptions{WriteTimeout: a.WriteTimeout})
	ping := time.NewTicker(orElse(a.Ping, sse.PingInterval))
	defer ping.Stop()
	minInterval := orElse(a.StatusEvery, StatusInterval)
	for last := []byte(nil); ; {
		frame := sse.Ping
		select {
		case <-ctx.Done():
			return nil
		case <-a.ended:
			return nil
		case <-ping.C:
		case <-watch.C:
			var err error
			if frame, err = a.statusFrame(ctx); err != nil {
				return err
			}
			if bytes.Equal(frame, last) {
				continue
			}
			last = frame
		}
		if w.Write(frame) != nil || !waitFor(ctx, minInterval) {
			return nil
		}
	}
}

func (a *API) statusFrame(ctx context.Context) ([]byte, error) {
	status, err := a.currentStatus(ctx)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(status)
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	return sse.Encode(sse.Frame{Event: "status", Data: data})
}

// waitFor returns false if ctx ends before d has passed.
func waitFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func orElse(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}
