package hosts

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"

	"bellhop/broker"
	"bellhop/protocol"
)

// parseSession reads the response to /session. A basic host returns a token, and
// possibly unrelated members with the same names as ours. Therefore only the token
// must be valid.
func parseSession(r *response, sessionID string) (*protocol.OpenSessionResponse, error) {
	if !json.Valid(r.body) {
		return nil, notHost(errNotJSON)
	}
	var basic struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(r.body, &basic); err != nil || basic.Token == "" {
		return nil, &protocol.Error{
			Code:    protocol.CodeBadGateway,
			Message: "No stream token returned from agent",
			Hint:    "The agent URL must be that of an agent host",
		}
	}
	full := &protocol.OpenSessionResponse{}
	if json.Unmarshal(r.body, full) != nil {
		full = &protocol.OpenSessionResponse{Token: basic.Token}
	}
	streams := streamsOf(full.StreamURL, sessionID)
	if len(full.Capabilities) > 0 && (full.StreamURL != "" && !streams || !r.isOf(full, sessionID)) {
		return nil, &protocol.Error{
			Code:    protocol.CodeBadGateway,
			Message: "The agent host's response is about another session",
			Hint:    "A proxy between the broker and the host has mixed up two responses, or repeated an old one: try again",
			Err:     fmt.Errorf("%w: %w", broker.ErrDoubtful, errOtherSession),
		}
	}
	if !streams {
		full.StreamURL = "" // the address is made from that of the host
	}
	return full, nil
}

// isOf reports whether a response of a host with capabilities is about a session. A host that names its answers has named
// the session and the request.
func (r *response) isOf(opened *protocol.OpenSessionResponse, sessionID string) bool {
	if slices.Contains(opened.Capabilities, protocol.CapabilityNamedAnswers) {
		return r.named && opened.SessionID == sessionID
	}
	return opened.SessionID == "" || opened.SessionID == sessionID
}

// streamsOf reports whether a browser can stream a session from a URL that a host returned.
func streamsOf(raw, sessionID string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Host != "" && u.User == nil && (u.Scheme == "http" || u.Scheme == "https") &&
		path.Base(u.Path) == sessionID
}
