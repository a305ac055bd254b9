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

// ScopesOf returns every scope that a token of a kind may have.
func ScopesOf(kind TokenKind) []Scope {
	if kind == TokenAgent {
		return []Scope{ScopeNotebooks}
	}
	return AllScopes()
}

// Has reports whether the token may be used for a scope.
func (t *APIToken) Has(scope Scope) bool {
	return slices.Contains(t.Scopes, scope) || scope == ScopeTasksRead && slices.Contains(t.Scopes, ScopeTasksWrite)
}
