package agenthost

import (
	"context"

	"bellhop/crypto/token"
	"bellhop/protocol"
)

// streamTokenPrefix makes a leaked token recognizable.
const streamTokenPrefix = "bhs_"

// token mints the answer's stream token.
func (o *opening) token() string {
	plain, hash := token.NewOpaque(streamTokenPrefix)
	rec := TokenRecord{Hash: hash, SessionID: o.s.id, Attach: o.req.Attach, ExpiresAt: o.expires}
	if o.req.Turn != nil {
		rec.TurnID = o.req.Turn.ID
	}
	o.b.w.Tokens = append(o.b.w.Tokens, rec)
	o.b.w.DropTokens = o.b.now
	return plain
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
