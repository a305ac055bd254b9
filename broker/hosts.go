package broker

import (
	"context"
	"log/slog"
	"time"

	"bellhop/protocol"
)

// Hosts is what administrators do with agent hosts; others get CodeForbidden.
type Hosts struct {
	Store Store
	Link  Link
	Now   func() time.Time
	Log   *slog.Logger
}

// HostRequest registers a host.
type HostRequest struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Password string `json:"password"`
}

// HostPatch changes what is not nil.
type HostPatch struct {
	Name     *string `json:"name"`
	URL      *string `json:"url"`
	Password *string `json:"password"`
}

// List is all hosts by name.
func (s *Hosts) List(ctx context.Context, caller Caller) ([]protocol.Host, error) { return nil, nil }

// Create registers a host.
func (s *Hosts) Create(ctx context.Context, caller Caller, req *HostRequest) (*protocol.Host, error) {
	return nil, nil
}

// Update changes a host; its old password stays valid for 24 h.
func (s *Hosts) Update(ctx context.Context, caller Caller, id string, p HostPatch) (*protocol.Host, error) {
	return nil, nil
}

// Delete removes a host; CodeConflict while tasks use it.
func (s *Hosts) Delete(ctx context.Context, caller Caller, id string) error { return nil }

// Run probes the hosts until ctx ends.
func (s *Hosts) Run(ctx context.Context) error { return nil }
