package broker

// Caller is the authenticated sender of a request. AgentIdentifier is set for an
// agent token, which may not call any use case of this package.
type Caller struct {
	UserID          string
	Admin           bool
	AgentIdentifier string
}
