package protocol

import "time"

// Times of share links, in seconds.
const (
	// DefaultShareLife is how long a share link works if the request does not say it.
	DefaultShareLife int64 = 7 * 24 * 60 * 60
	// MinShareLife is the shortest life of a share link.
	MinShareLife int64 = 60
	// MaxShareLife is the longest life of a share link.
	MaxShareLife int64 = 30 * 24 * 60 * 60
)

// Numbers of share links.
const (
	// MaxTaskShares is how many share links of a task may work at the same time.
	MaxTaskShares = 20
	// MaxUserShares is how many share links of a user may work at the same time.
	MaxUserShares = 200
)

// ShareRequest is the body of POST /api/tasks/:id/shares.
type ShareRequest struct {
	ExpiresIn int64 `json:"expiresIn,omitempty"` // seconds; 0 = DefaultShareLife
}

// Share is a share link, as its owner sees it. Token and URL are set only in the response that created it.
type Share struct {
	ID         string     `json:"id"`
	TaskID     string     `json:"taskId"`
	TaskTitle  string     `json:"taskTitle"` // now
	Title      string     `json:"title"`     // that readers see: the task's when it was shared
	CreatedAt  time.Time  `json:"createdAt"`
	ExpiresAt  time.Time  `json:"expiresAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"`
	Token      string     `json:"token,omitempty"`
	URL        string     `json:"url,omitempty"` // of the page; the token is its fragment
}

// ShareList is the answer of GET /api/shares and GET /api/tasks/:id/shares, the newest link first.
type ShareList struct {
	Shares []Share `json:"shares"`
}

// SharedTranscript is a page of a transcript, as readers of a share link see it: without secrets, files, the
// words of answers, and what came after it was shared.
type SharedTranscript struct {
	Title        string        `json:"title"`
	SharedAt     time.Time     `json:"sharedAt"`
	ExpiresAt    time.Time     `json:"expiresAt"`
	Messages     []Message     `json:"messages"`
	NextAfter    int64         `json:"nextAfter"`
	More         bool          `json:"more"` // there are messages behind NextAfter
	Turns        []LastTurn    `json:"turns"`
	Interactions []Interaction `json:"interactions"`
}
