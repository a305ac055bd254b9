package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"bellhop/protocol"
)

type sessionsCommand struct {
	Release sessionsReleaseCommand `cmd:"" help:"Forget the broker's key of sessions, so that a broker that lost it can open them again."`
}

type sessionsReleaseCommand struct {
	hostFlags `embed:""`

	Broker  string   `placeholder:"ID" help:"All sessions of this broker."`
	Session []string `arg:"" optional:"" help:"The sessions' ids."`
}

// Help is shown by --help.
func (sessionsReleaseCommand) Help() string {
	return `Each session is bound to a key of the broker that opened it. A broker has its keys in its database. If that
was restored from a backup of a release without keys, or was lost, its hosts refuse the broker. This command, on the
machine of such a host and as a user who may read its data, lets the next broker that opens a session bind a new key.

  bellhop sessions release --data /var/lib/bellhop 01989c3e-6f0a-7c59-8a5e-2f4d2b1c9d10`
}

// Run prints each session that it released.
func (c sessionsReleaseCommand) Run(env *environment) error {
	if (c.Broker == "") == (len(c.Session) == 0) {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "name the sessions, or their broker with --broker",
			Hint: "See: bellhop sessions release --help",
		}
	}
	host, err := c.localHost()
	if err != nil {
		return err
	}
	ids := c.Session
	if c.Broker != "" {
		if ids, err = host.keyedSessions(env.ctx, c.Broker); err != nil {
			return err
		}
		if len(ids) == 0 {
			_, err = fmt.Fprintf(env.stdout, "no session of the broker %s is bound to a key\n", c.Broker)
			return err
		}
	}
	for _, id := range ids {
		var done protocol.Confirmation
		if err := host.call(env.ctx, http.MethodDelete, "/session/"+url.PathEscape(id)+"/key", "", &done); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(env.stdout, done.SessionID); err != nil {
			return err
		}
	}
	return nil
}

// keyedSessions are the sessions of a broker that are bound to a key.
func (h *localHost) keyedSessions(ctx context.Context, broker string) ([]string, error) {
	var ids []string
	for after := ""; ; {
		var page protocol.BoundSessionList
		query := url.Values{"brokerId": {broker}, "after": {after}}
		if err := h.call(ctx, http.MethodGet, "/session?"+query.Encode(), "", &page); err != nil {
			return nil, err
		}
		for i := range page.Sessions {
			if page.Sessions[i].Keyed {
				ids = append(ids, page.Sessions[i].SessionID)
			}
		}
		if page.NextAfter <= after {
			return ids, nil
		}
		after = page.NextAfter
	}
}
