package broker

import (
	"slices"
	"strings"

	"bellhop/protocol"
)

// Scope is a part of the API that an API token may be used for.
type Scope string

// Scopes of tokens. A token never has a right that its user does not have.
const (
	ScopeTasksRead  Scope = "tasks:read"
	ScopeTasksWrite Scope = "tasks:write" // and ScopeTasksRead
	ScopeNotebooks  Scope = "notebooks"
	ScopeHosts      Scope = "hosts"
	ScopeWebhooks   Scope = "webhooks"
	ScopeAdmin      Scope = "admin" // the account, and what administrators do with the installation
)

// AllScopes returns every scope.
func AllScopes() []Scope {
	return []Scope{ScopeTasksRead, ScopeTasksWrite, ScopeNotebooks, ScopeHosts, ScopeWebhooks, ScopeAdmin}
}

// CheckScopes returns CodeInvalid for an unknown or repeated scope.
func CheckScopes(scopes []Scope) error {
	for i, scope := range scopes {
		switch {
		case !slices.Contains(AllScopes(), scope):
			return &protocol.Error{
				Code: protocol.CodeInvalid, Message: "scopes has an unknown entry", Hint: "Known are " + scopeNames(),
			}
		case slices.Contains(scopes[:i], scope):
			return protocol.Errorf(protocol.CodeInvalid, "scopes has %s twice", scope)
		}
	}
	return nil
}

func scopeNames() string {
	names := []string{}
	for _, scope := range AllScopes() {
		names = append(names, string(scope))
	}
	return strings.Join(names, ", ")
}

// AllScopes returns the scopes of the token. A token of an earlier version has all scopes of its kind.
func (t *APIToken) AllScopes() []Scope {
	switch {
	case t.Kind == TokenAgent:
		return []Scope{ScopeNotebooks}
	case len(t.Scopes) == 0:
		return AllScopes()
	}
	return t.Scopes
}

// Has reports whether the token may be used for a scope.
func (t *APIToken) Has(scope Scope) bool {
	scopes := t.AllScopes()
	return slices.Contains(scopes, scope) || scope == ScopeTasksRead && slices.Contains(scopes, ScopeTasksWrite)
}
