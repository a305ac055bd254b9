package agenthost

import (
	"context"

	"bellhop/crypto/token"
	"bellhop/protocol"
)

// streamTokenPrefix makes a leaked token recognizable.
const streamTokenPrefix = "bhs_"

// newToken mints a stream token: its text, and the record that is journaled.
func (s *session) newToken(turn *protocol.AnnouncedTurn, attach bool) (plain string, rec TokenRecord) {
	plain, hash := token.NewOpaque(streamTokenPrefix)
	rec = TokenRecord{Hash: hash, SessionID: s.id, Attach: attach, ExpiresAt: s.host.opts.Now().UTC().Add(s.host.opts.TokenTTL)}
	if turn != nil {
		rec.TurnID = turn.ID
	}
	return plain, rec
}

// Authorize says what a stream token allows: CodeNotFound when there is no such
// session, CodeUnauthorized when the token is unknown, expired or another
// session's. A stream that is attached outlives its token.
func (h *Host) Authorize(ctx context.Context, sessionID, plain string) (Grant, error) {
	if _, err := h.session(sessionID); err != nil {
		return Grant{}, err
	}
	refused := &protocol.Error{
		Code: protocol.CodeUnauthorized, Message: "Invalid or expired token",
		Hint: "Check in or attach again for a fresh token",
	}
	if plain == "" {
		return Grant{}, refused
	}
	rec, err := h.opts.Journal.Token(ctx, token.Hash(plain))
	if protocol.CodeOf(err) == protocol.CodeUnauthorized {
		return Grant{}, refused
	}
	if err != nil {
		return Grant{}, err
	}
	if rec.SessionID != sessionID || !h.opts.Now().Before(rec.ExpiresAt) {
		return Grant{}, refused
	}
	return Grant{SessionID: sessionID, TurnID: rec.TurnID, Attach: rec.Attach}, nil
}
