package hosts

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// nameAct names an act that changes something, so that the host knows a later copy of its request.
func nameAct(header http.Header, method string, act *broker.ActRow) {
	if method != http.MethodGet {
		header.Set(protocol.HeaderAct, act.ID)
		header.Set(protocol.HeaderFirstSeen, act.SeenAt.Format(time.RFC3339Nano))
	}
}

// nameRequest gives a request a name of its own. A host that names its answers repeats it.
func nameRequest(header http.Header) { header.Set(protocol.HeaderRequest, protocol.NewID()) }

// nameLife names the life of the broker's database in a request.
func (c *Client) nameLife(header http.Header) {
	if c.life != nil {
		header.Set(protocol.HeaderLife, c.life().String())
	}
}

// repeatsName reports whether a response repeats the name of its request.
func repeatsName(request, response http.Header) bool {
	name := request.Get(protocol.HeaderRequest)
	return name != "" && response.Get(protocol.HeaderRequest) == name
}

// errForeign is the error for a response that the host has not written, or not to this request. Nothing may be
// concluded from its status or its body (docs/protocol.md, "Whose answer it is").
type errForeign struct{ status int }

func (e errForeign) Error() string {
	return fmt.Sprintf("a response with status %d does not repeat the request's name", e.status)
}

// Is makes every such error a broker.ErrDoubtful.
func (e errForeign) Is(target error) bool { return target == broker.ErrDoubtful }

// foreign returns the error for users if err is or wraps an errForeign, else nil.
func foreign(err error) error {
	var of errForeign
	if !errors.As(err, &of) {
		return nil
	}
	return &protocol.Error{
		Code:    protocol.CodeBadGateway,
		Message: fmt.Sprintf("Something other than the agent host answered, with status %d", of.status),
		Hint:    "A proxy between the broker and the host answered in its place, or mixed up two responses: try again",
		Err:     err,
	}
}
