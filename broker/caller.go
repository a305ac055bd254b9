package broker

// Caller is who asks. AgentIdentifier is set for a token of kind agent, which
// reaches no use case of this package.
type Caller struct {
	UserID          string
	Admin           bool
	AgentIdentifier string
}

// Notifier hears of every change of a task, after its commit.
type Notifier interface {
	Changed(userID, taskID string, rev int64)
}
