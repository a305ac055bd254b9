package hosts

import (
	"encoding/json"
	"net/url"

	"bellhop/protocol"
)

// parseSession reads the response to /session. A basic host returns a token, and
// possibly unrelated members with the same names as ours. Therefore only the token
// must be valid.
func parseSession(r *response) (*protocol.OpenSessionResponse, error) {
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
	if !streamable(full.StreamURL) {
		full.StreamURL = ""
	}
	return full, nil
}

// streamable reports whether a browser can stream from a URL that a host returned.
func streamable(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Host != "" && u.User == nil && (u.Scheme == "http" || u.Scheme == "https")
}
