package protocol

// PathList is the response to GET /session/:id/paths and GET /projects/:project/paths of an agent host, and
// to GET /api/tasks/:id/paths and GET /api/paths of a broker: the files that a message can name.
type PathList struct {
	Paths []string `json:"paths"`          // the best match first, at most MaxPaths; a directory ends in "/"
	More  bool     `json:"more,omitempty"` // further paths match, or the host has not read all

	Problem string `json:"problem,omitempty"` // why the broker knows none
}

// Limits of a PathList.
const (
	MaxPaths     = 50
	MaxPath      = 4096 // bytes of one path
	MaxPathQuery = 256  // bytes of a query
)

// CheckPathQuery returns CodeInvalid for a search that is too long.
func CheckPathQuery(q string) error {
	if len(q) > MaxPathQuery {
		return Errorf(CodeInvalid, "q is longer than %d bytes", MaxPathQuery)
	}
	return nil
}
