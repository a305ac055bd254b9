package codex

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bellhop/agenthost/provider/stdio"
)

// failure is a TurnError.
type failure struct {
	Message string          `json:"message"`
	Details string          `json:"additionalDetails"`
	Info    json.RawMessage `json:"codexErrorInfo"`
}

// meanings explains the values of codexErrorInfo to users.
var meanings = map[string]string{
	"contextWindowExceeded":          "The conversation is longer than the model can take",
	"sessionBudgetExceeded":          "The budget of the agent's session is used up",
	"usageLimitExceeded":             "The usage limit of the account is reached",
	"rateLimitExceeded":              "The model provider limits the rate of requests",
	"serverOverloaded":               "The model provider is overloaded",
	"flexUnavailable":                "The model provider has no capacity",
	"policyCapacityUnavailable":      "The model provider has no capacity",
	"modelNotFound":                  "The model provider does not know the model",
	"internalServerError":            "The model provider had an internal error",
	"unauthorized":                   "The model provider refuses the key or the login",
	"badRequest":                     "The model provider refuses the request",
	"sandboxError":                   "The agent's sandbox failed",
	"tooManyDenials":                 "Too many of the agent's calls were denied",
	"httpConnectionFailed":           "The model provider cannot be used",
	"responseStreamConnectionFailed": "The model provider cannot be reached",
	"responseStreamDisconnected":     "The connection to the model provider broke off",
	"responseTooManyFailedAttempts":  "The model provider failed too often",
}

// description returns the text of the failure for the user.
func (f *failure) description() string {
	if f == nil {
		return "The agent reports a failure"
	}
	kind, status := f.kind()
	meaning := meanings[kind]
	if status == 401 || status == 403 {
		meaning = meanings["unauthorized"]
	}
	if meaning != "" && status > 0 {
		meaning = fmt.Sprintf("%s (HTTP %d)", meaning, status)
	}
	message := f.Message
	if response := stdio.ModelError(message); response != "" {
		message, meaning = response, cmp.Or(meaning, meanings["badRequest"])
	}
	parts := slices.DeleteFunc([]string{meaning, message, f.Details}, func(part string) bool { return part == "" })
	return cmp.Or(strings.Join(parts, ": "), "The agent reports a failure")
}

// kind reads codexErrorInfo, which is a name, or an object of a name and its
// details.
func (f *failure) kind() (name string, status int) {
	if json.Unmarshal(f.Info, &name) == nil {
		return name, 0
	}
	var detailed map[string]struct {
		Status int `json:"httpStatusCode"`
	}
	if json.Unmarshal(f.Info, &detailed) != nil {
		return "", 0
	}
	for name, details := range detailed {
		return name, details.Status
	}
	return "", 0
}
