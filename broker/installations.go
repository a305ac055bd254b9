package broker

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"bellhop/protocol"
)

// Installations has agent hosts install agents' programs. Only administrators may; others get CodeForbidden. Each host
// decides again whether its operator allows it.
type Installations struct {
	Store   HostStore
	Targets *Targets
	Link    InstallationLink
	Offers  *Offers
	Now     func() time.Time
}

// InstallationLink asks hosts; broker/hosts implements it. CodeMethodNotAllowed: the host cannot install programs, such
// as a basic one. CodeForbidden: its operator does not allow it.
type InstallationLink interface {
	Installations(ctx context.Context, t Target) (*protocol.InstallationList, error)
	Install(ctx context.Context, t Target, req *protocol.InstallRequest) (*protocol.Installation, error)
	CancelInstallation(ctx context.Context, t Target, program string) (*protocol.Installation, error)
}

// maxProgram limits the name of a program in bytes.
const maxProgram = 64

// List returns the last installations of a host. Agents that were installed since the last call are offered from then
// on.
func (s *Installations) List(ctx context.Context, caller Caller, hostID string) (*protocol.InstallationList, error) {
	_, target, err := s.hostOf(ctx, caller, hostID)
	if err != nil {
		return nil, err
	}
	list, err := s.Link.Installations(ctx, target)
	if err != nil {
		return nil, notInstalled(err)
	}
	var ended []string
	for i := range list.Installations {
		if list.Installations[i].State != protocol.InstallationRunning {
			ended = append(ended, list.Installations[i].ID)
		}
	}
	slices.Sort(ended)
	s.Offers.installed(hostID, strings.Join(ended, " "))
	return list, nil
}

// Start has a host install a program, and adds an entry to the audit log. It returns when the installation has begun.
func (s *Installations) Start(
	ctx context.Context, caller Caller, hostID string, req *protocol.InstallRequest,
) (*protocol.Installation, error) {
	if err := checkProgram(req.Program); err != nil {
		return nil, err
	}
	return s.act(ctx, caller, hostID, protocol.AuditHostInstalled,
		func(ctx context.Context, t Target) (*protocol.Installation, error) {
			return s.Link.Install(ctx, t, req)
		})
}

// Cancel has a host end an installation, and adds an entry to the audit log.
func (s *Installations) Cancel(
	ctx context.Context, caller Caller, hostID, program string,
) (*protocol.Installation, error) {
	if err := checkProgram(program); err != nil {
		return nil, err
	}
	return s.act(ctx, caller, hostID, protocol.AuditHostCancelled,
		func(ctx context.Context, t Target) (*protocol.Installation, error) {
			return s.Link.CancelInstallation(ctx, t, program)
		})
}

func (s *Installations) act(
	ctx context.Context, caller Caller, hostID string, action protocol.AuditAction,
	do func(ctx context.Context, t Target) (*protocol.Installation, error),
) (*protocol.Installation, error) {
	host, target, err := s.hostOf(ctx, caller, hostID)
	if err != nil {
		return nil, err
	}
	// A caller that goes away must not leave an act without its entry. The host's answer is awaited for a bounded time.
	ctx = context.WithoutCancel(ctx)
	done, err := do(ctx, target)
	if err != nil {
		return nil, notInstalled(err)
	}
	err = Audited(ctx, s.Store, s.Now, func(context.Context) (*Act, error) {
		return hostAct(action, host, map[string]string{"program": done.Program, "version": done.Version}), nil
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

func (s *Installations) hostOf(ctx context.Context, caller Caller, hostID string) (*Host, Target, error) {
	if err := adminOnly(caller); err != nil {
		return nil, Target{}, err
	}
	host, err := s.Targets.Store.Host(ctx, hostID)
	if err != nil {
		return nil, Target{}, err
	}
	return host, s.Targets.OfHost(host), nil
}

// checkProgram rejects what cannot be the name of a program, before it is part of a path at the host.
func checkProgram(name string) error {
	isWord := func(char rune) bool { return char == '-' || unicode.IsDigit(char) || unicode.IsLower(char) }
	if name == "" || len(name) > maxProgram || strings.ContainsFunc(name, func(c rune) bool { return !isWord(c) }) {
		return protocol.Errorf(protocol.CodeInvalid, "program must be 1 to %d of a-z 0-9 -", maxProgram)
	}
	return nil
}

// notInstalled explains the error of a host that cannot install programs.
func notInstalled(err error) error {
	if protocol.CodeOf(err) != protocol.CodeMethodNotAllowed {
		return err
	}
	return &protocol.Error{
		Code: protocol.CodeBadGateway, Message: "The agent host installs no programs", Err: err,
		Hint: "It is a basic agent server: install them there",
	}
}
