package broker

// Caller is who asks.
type Caller struct {
	UserID string
	Admin  bool
}

// Notifier hears of every change of a task, after its commit.
type Notifier interface {
	Changed(userID, taskID string, rev int64)
}
