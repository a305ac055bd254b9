package hosts

import (
	"encoding/json"
	"net/url"

	"bellhop/protocol"
)

// parseSession reads the answer to /session. A basic host answers a token and
// perhaps members of its own; only the token must be right.
func parseSession(a *answer) (*protocol.OpenSessionResponse, error) {
	if !json.Valid(a.body) {
		return nil, unreachable(errNotJSON)
	}
	var basic struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(a.body, &basic); err != nil || basic.Token == "" {
		return nil, &protocol.Error{
			Code:    protocol.CodeBadGateway,
			Message: "No stream token returned from agent",
			Hint:    "The agent URL must be that of an agent host",
		}
	}
	full := &protocol.OpenSessionResponse{}
	if understood := json.Unmarshal(a.body, full) == nil; !understood {
		full = &protocol.OpenSessionResponse{Token: basic.Token}
	}
	if !streamable(full.StreamURL) {
		full.StreamURL = ""
	}
	return full, nil
}

// streamable keeps a host from naming something else than a place to stream from.
func streamable(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Host != "" && u.User == nil && (u.Scheme == "http" || u.Scheme == "https")
}
