package protocol

// TerminalProtocol is the WebSocket subprotocol of GET /session/:id/shell of an agent host, and of
// GET /api/tasks/:id/shell of a broker. Binary messages are what a user types, and what the terminal shows. Text
// messages are TerminalRequest and TerminalNotice.
const TerminalProtocol = "bellhop.terminal.v1"

// MaxTerminalMessage is the most bytes of one message.
const MaxTerminalMessage = 64 << 10

// TerminalSize is the size of a terminal in characters, each side 1 to 1,000.
type TerminalSize struct {
	Columns uint16 `json:"columns"`
	Rows    uint16 `json:"rows"`
}

// HeaderTerminalOrigin has the origin of the page that a broker opens a terminal for. The host accepts the page's own
// connection from no other origin.
const HeaderTerminalOrigin = "Bellhop-Terminal-Origin"

// HeaderTerminalURL has, in the response of a host, the URL of a page's own connection: GET /session/:id/shell/direct.
const HeaderTerminalURL = "Bellhop-Terminal-Url"

// TerminalRequest is a text message of a client. The first one of a broker's connection has Size, the first one of a
// page's own connection to the host has Size and Ticket.
type TerminalRequest struct {
	ID     string        `json:"id,omitempty"`     // of the first message: the terminal to show again; "" opens one
	Size   *TerminalSize `json:"size,omitempty"`   // the terminal gets this size
	Direct bool          `json:"direct,omitempty"` // of the first message: the client wants a ticket
	Ticket string        `json:"ticket,omitempty"`
	Shown  int           `json:"shown,omitempty"` // bytes of output that the client has shown since its last message
	End    bool          `json:"end,omitempty"`   // the terminal ends with its programs
}

// ParseTerminalRequest reads a text message of a client. Unknown members are ignored. CodeInvalid: it is no JSON
// object, or a member has another type.
func ParseTerminalRequest(raw []byte) (*TerminalRequest, error) {
	var request TerminalRequest
	if err := Decode(raw, &request); err != nil {
		return nil, &Error{Code: CodeInvalid, Message: "This is no message of a terminal", Err: err}
	}
	return &request, nil
}

// TerminalNotice is a text message of a host, or of a broker in front of it.
type TerminalNotice struct {
	URL      string     `json:"url,omitempty"`      // of a broker: where the page may connect to the host itself
	ID       string     `json:"id,omitempty"`       // what follows is output of this terminal
	Repeated int        `json:"repeated,omitempty"` // with ID: how many bytes of it were shown before, here or elsewhere
	Ticket   string     `json:"ticket,omitempty"`   // for one connection to the host itself, within 30 seconds
	Ended    string     `json:"ended,omitempty"`    // why nothing more is shown
	Exit     *int       `json:"exit,omitempty"`     // the exit code, if the shell has exited
	Error    *ErrorBody `json:"error,omitempty"`    // why no terminal is shown
}
