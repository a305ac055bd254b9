package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"time"

	"bellhop/internal/sse"
	"bellhop/protocol"
)

// Event is one step of a stream: exactly one of Part, Reset and Lost is set.
type Event struct {
	ID   string // id of the part's frame, for Resume; "" from basic hosts
	Part *protocol.Part

	// Reset means that frames were missed: the consumer must drop the turn's parts, which
	// follow again from the start.
	Reset bool

	// Lost is why the connection broke; the next attempt is made after RetryIn.
	Lost    error
	RetryIn time.Duration
}

// Stream is the stream of one turn, read from the host. Only one goroutine may read it, once.
type Stream struct {
	TaskID    string
	MessageID string // "" when attached
	TurnID    string // "" when attached

	// Follow, set before Events, continues with later turns until ctx ends.
	Follow bool

	client  *Client
	url     *url.URL
	token   string
	checkIn *protocol.CheckInRequest // repeated to renew the token while the turn may not have started
	prompt  *protocol.PromptRequest  // starts the turn; nil = only watch
	cursor  string                   // id of the last frame read

	// basic is a host without capabilities: it takes its token in the query, cannot resume,
	// and leaves it to the reader of the stream to report the end of the turn.
	basic bool

	receiver receiver
}

// Send checks a message in and returns the stream of its turn. The turn starts when Events is
// read. The host gets the message and the attachments as prompt. An empty MessageID is
// generated, so that retries are safe.
func (c *Client) Send(
	ctx context.Context, req *protocol.CheckInRequest, attachments ...protocol.Attachment,
) (*Stream, error) {
	checkIn := *req
	if checkIn.MessageID == "" {
		checkIn.MessageID = protocol.NewID()
	}
	got, err := c.CheckIn(ctx, &checkIn)
	if err != nil {
		return nil, err
	}
	s, err := c.Open(got, &protocol.PromptRequest{Prompt: req.Message, Attachments: attachments, Force: c.opts.Force})
	if err != nil {
		return nil, err
	}
	s.checkIn = &checkIn
	return s, nil
}

// Open returns the stream of a turn that was checked in elsewhere.
func (c *Client) Open(in *protocol.CheckInResponse, prompt *protocol.PromptRequest) (*Stream, error) {
	u, err := parseURL(in.StreamURL)
	if err != nil {
		return nil, fmt.Errorf("the stream's URL: %w", err)
	}
	return &Stream{
		TaskID: in.SessionID, MessageID: in.MessageID, TurnID: in.TurnID,
		client: c, url: u, token: in.StreamToken, prompt: prompt, basic: len(in.Capabilities) == 0,
		receiver: receiverOf(in.Reach, in.Capabilities),
	}, nil
}

// receiverOf returns what answers the requests of a stream.
func receiverOf(reach protocol.Reach, capabilities []string) receiver {
	switch {
	case reach == protocol.ReachRelay:
		return broker
	case slices.Contains(capabilities, protocol.CapabilityNamedAnswers):
		return namedHost
	}
	return otherHost
}

// Watch attaches to a task and returns the stream of its open turn from its start. If the task
// is idle, the stream has no events.
func (c *Client) Watch(ctx context.Context, taskID string) (*Stream, error) {
	got, err := c.Attach(ctx, taskID)
	if err != nil {
		return nil, err
	}
	s := &Stream{
		TaskID: taskID, client: c, basic: len(got.Capabilities) == 0, receiver: receiverOf(got.Reach, got.Capabilities),
	}
	if got.StreamCursor != nil {
		s.cursor = *got.StreamCursor
	}
	return s, s.moveTo(got.StreamURL, got.StreamToken)
}

// Resume is Watch, starting after the frame with the id cursor.
func (c *Client) Resume(ctx context.Context, taskID, cursor string) (*Stream, error) {
	s, err := c.Watch(ctx, taskID)
	if err != nil {
		return nil, err
	}
	s.cursor = cursor
	return s, nil
}

// Cursor returns the id of the last frame read.
func (s *Stream) Cursor() string { return s.cursor }

// Events yields the turn's parts up to its end: a finish, abort or error part. It reconnects up
// to Options.Attempts times in a row and yields an Event with Lost each time; an error comes
// last. The turn keeps running if the caller stops reading or ctx ends.
func (s *Stream) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := &streamReader{Stream: s, yield: yield, watches: s.prompt == nil}
		if err := r.run(ctx); err != nil && !r.stopped {
			yield(Event{}, err)
		}
	}
}

// streamReader is the state of one Events call.
type streamReader struct {
	*Stream
	yield   func(Event, error) bool
	watches bool           // started without a prompt
	stopped bool           // by the consumer
	ended   bool           // by a terminal part
	frames  bool           // a part was received
	resumes bool           // the host supports resuming
	renewed bool           // the token was renewed since the last connection
	failed  int            // failed attempts in a row
	last    *protocol.Part // the terminal part
	opened  time.Time
}

// errBasicEnd ends the stream of a basic host, which cannot be resumed.
var errBasicEnd = errors.New("the stream of a host that cannot resume is over")

func (r *streamReader) run(ctx context.Context) error {
	if r.basic && r.prompt == nil {
		return nil // such a host has no stream to watch
	}
	for {
		err := r.follow(ctx)
		if r.basic && (r.ended || errors.Is(err, errBasicEnd)) {
			r.report(ctx)
		}
		if r.ended || r.stopped || errors.Is(err, errBasicEnd) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch status := StatusOf(err); {
		case status == http.StatusNoContent && r.watches:
			return nil // the task is idle and nothing newer exists
		case status == http.StatusNoContent:
			return &Error{
				Origin: origin(r.url), Status: status, Err: protocol.Errorf(protocol.CodeGone, "the turn is not there any more"),
			}
		case status == http.StatusUnauthorized && !r.renewed:
			r.renewed = true
			if err := r.renew(ctx); err != nil {
				return err
			}
		default:
			if r.basic && !r.frames && status/100 == 4 { // the turn never began, and the host does not report that
				r.last = &protocol.Part{Type: protocol.PartError}
				r.report(ctx)
			}
			return err
		}
	}
}

func (r *streamReader) follow(ctx context.Context) error {
	following, stop := context.WithCancelCause(to(ctx, r.receiver))
	defer stop(nil)
	opts := r.client.opts
	if r.basic {
		opts.Idle = protocol.BasicSilence // such a host sends no pings
	}
	err := sse.Follow(following, sse.FollowOptions{
		Client:     r.client.stream,
		LastID:     r.cursor,
		Request:    func(lastID string) (*http.Request, error) { return r.request(following, lastID) },
		OnOpen:     func() { r.renewed, r.opened = false, time.Now() },
		OnFrame:    r.frame,
		OnRetry:    func(err error, after time.Duration) { r.connectionLost(ctx, stop, err, after) },
		Idle:       opts.Idle,
		MinBackoff: opts.MinBackoff,
		MaxBackoff: opts.MaxBackoff,
	})
	return followError(ctx, r.url, err)
}

// request POSTs the prompt until the first frame was read: the host replays a turn that already
// started. Afterwards it resumes with GET.
func (r *streamReader) request(ctx context.Context, lastID string) (*http.Request, error) {
	method, body := http.MethodGet, any(nil)
	u := *r.url
	query := u.Query()
	if r.prompt != nil && lastID == "" {
		method, body = http.MethodPost, r.prompt
	} else if r.Follow {
		query.Set("follow", "true")
	}
	if r.basic {
		query.Set("token", r.token)
	}
	u.RawQuery = query.Encode()
	req, err := jsonRequest(ctx, method, &u, body)
	if err != nil {
		return nil, err
	}
	if !r.basic {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	req.Header.Set("Accept", "text/event-stream")
	if lastID != "" {
		req.Header.Set("Accept", "text/event-stream, application/json") // so that the end is a 204
		req.Header.Set("Last-Event-ID", lastID)
	}
	return req, nil
}
