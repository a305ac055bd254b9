package broker

// Caller is the authenticated sender of a request. AgentIdentifier is set for a
// token of kind agent, which may not use any use case of this package.
type Caller struct {
	UserID          string
	Admin           bool
	AgentIdentifier string
}
