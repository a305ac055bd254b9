package app

import (
	"cmp"
	"context"

	"bellhop/broker/api"
	"bellhop/broker/feed"
	"bellhop/crypto/seal"
	"bellhop/internal/netguard"
	"bellhop/notebook"
	notebookapi "bellhop/notebook/api"
	"bellhop/notebook/icons"
	"bellhop/notebook/mcp"
	notebookstore "bellhop/notebook/store"
	"bellhop/notebook/verify"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
	outboundapi "bellhop/webhook/outbound/api"
	"bellhop/webhook/outbound/notification"
	notificationapi "bellhop/webhook/outbound/notification/api"
	outboundstore "bellhop/webhook/outbound/store"
)

// kindAgent is the kind of endpoints that are agents' webhooks.
const kindAgent = "agent"

// notebooks combines the use cases of notebooks with the outbound webhooks that
// deliver follow-ups.
type notebooks struct {
	*notebook.Service
	verifier *verify.Verifier
	outbound *outbound.Service
	worker   *outbound.Worker
	browsers *notification.Service
	notifier *feedNotifier
}

func (a *Admin) newNotebooks(ctx context.Context, guard *netguard.Guard) (*notebooks, error) {
	c, now, log := a.config, a.config.Now, a.config.Log
	identity, err := a.notificationIdentity(ctx)
	if err != nil {
		return nil, err
	}
	store := outboundstore.New(a.db, a.sealer)
	sending := outbound.New(outbound.Options{
		Store: store, CheckURL: guard.CheckURL, Console: c.PublicURL, Now: now, Held: a.held.Now, Log: log,
	})
	browsers := a.newNotifications(sending, store, guard, identity)
	notifier := &feedNotifier{}
	verifier := verify.New(verify.Options{Worker: c.VerifyWorker, Cache: c.VerifyCache, Now: now, Log: log})
	service := notebook.New(notebook.Options{
		Store:    notebookstore.New(a.db),
		Verifier: verifier,
		Icons:    icons.New(guard.Client(icons.Timeouts()), now),
		Outbox:   &outbox{sending, browsers}, Notifier: notifier, Lifetime: c.AgentLifetime, Now: now, Log: log,
	})
	return &notebooks{
		Service: service, verifier: verifier, outbound: sending, browsers: browsers, notifier: notifier,
		worker: outbound.NewWorker(sending, outbound.WorkerOptions{
			Client: guard.Client(outbound.Timeouts()), Observer: a.observer(), Keep: cmp.Or(c.Retention.Deliveries, -1),
			Kinds: map[string]outbound.Kind{
				kindAgent:            {Render: renderFollowup(service), Notices: followupNotices{service}},
				outbound.KindTask:    {},
				outbound.KindBrowser: browsers.Kind(),
			},
		}),
	}, nil
}

// apiParts returns the routes of notebooks, MCP and deliveries.
func (n *notebooks) apiParts(a *Admin) []api.Part {
	caller := func(ctx context.Context) notebook.Caller {
		c := a.Auth.Caller(ctx)
		return notebook.Caller{UserID: c.UserID, AgentIdentifier: c.AgentIdentifier}
	}
	user, agent := a.Auth.Middleware, a.Auth.AgentMiddleware
	userID := func(ctx context.Context) string { return a.Auth.Caller(ctx).UserID }
	return []api.Part{
		&notebookapi.API{Notebooks: n.Service, User: user, Agent: agent, Caller: caller},
		&mcp.Server{
			Notebooks: n.Service, Agent: agent, Caller: caller, Version: a.config.Version,
			PublicURL: a.config.PublicURL, Log: a.config.Log,
		},
		&outboundapi.API{
			Service: n.outbound, User: user, UserID: userID, Rotating: a.rotating,
			Subjects: map[string]outboundapi.Describe{kindAgent: n.Subjects},
		},
		&notificationapi.API{Service: n.browsers, User: user, UserID: userID, SignIn: a.Auth.SignInOf},
	}
}

// feedNotifier notifies the feed of changes in notebooks. The feed needs the
// notebooks when it is created, so the field is set afterwards.
type feedNotifier struct{ feed *feed.Feed }

// AgentChanged implements notebook.Notifier.
func (n *feedNotifier) AgentChanged(userID string) {
	if n.feed != nil {
		n.feed.AgentChanged(userID)
	}
}

// outbox implements notebook.Outbox.
type outbox struct {
	*outbound.Service
	browsers *notification.Service
}

func (o *outbox) SetEndpoint(ctx context.Context, e notebook.Endpoint) (seal.Secret, error) {
	request := outbound.EndpointRequest{ID: e.ID, Kind: kindAgent, URL: e.URL, Secret: e.Secret}
	set, err := o.Redirect(ctx, e.UserID, request)
	if err != nil {
		return seal.Secret{}, err
	}
	return set.Secret, nil
}

func (o *outbox) Enable(ctx context.Context, userID, endpointID string) error {
	return o.Service.Enable(ctx, userID, kindAgent, endpointID)
}

func (o *outbox) ClearEndpoint(ctx context.Context, userID, endpointID string) error {
	return o.Clear(ctx, userID, kindAgent, endpointID)
}

func (o *outbox) RemoveEndpoint(ctx context.Context, userID, endpointID string) error {
	return o.Remove(ctx, userID, kindAgent, endpointID)
}

func (o *outbox) Enqueue(ctx context.Context, f notebook.Outgoing) error {
	_, err := o.Service.Enqueue(ctx, outbound.Message{
		EndpointID: f.EndpointID, MessageID: f.MessageID, OrderKey: f.SourceID, Event: notebook.EventFollowup,
	})
	return err
}

func (o *outbox) Answered(ctx context.Context, a notebook.Answer) error {
	return o.emit(ctx, a.UserID, outbound.TaskEvent{
		ID: a.MessageID, Type: protocol.WebhookFollowupAnswered, At: a.At, Data: a,
	})
}

func (o *outbox) Failed(ctx context.Context, f notebook.Failure) error {
	return o.emit(ctx, f.UserID, outbound.TaskEvent{Type: protocol.WebhookFollowupFailed, At: f.At, Data: f})
}

func (o *outbox) emit(ctx context.Context, userID string, event outbound.TaskEvent) error {
	if err := o.Emit(ctx, userID, event); err != nil {
		return err
	}
	return o.browsers.Emit(ctx, userID, event)
}

// Progress implements notebook.Outbox.
func (o *outbox) Progress(
	ctx context.Context, userID, endpointID string, messageIDs []string,
) (map[string]protocol.FollowupProgress, error) {
	open, err := o.Service.Progress(ctx, userID, endpointID, messageIDs)
	all := make(map[string]protocol.FollowupProgress, len(open))
	for id, d := range open {
		all[id] = progressOf(d)
	}
	return all, err
}

func progressOf(d *outbound.Delivery) protocol.FollowupProgress {
	p := protocol.FollowupProgress{State: protocol.ProgressSending, Attempts: d.Attempts, LastError: d.LastError()}
	switch {
	case d.State == outbound.Held:
		p.State = protocol.ProgressHeld
	case d.Blocked:
		p.State = protocol.ProgressWaiting
	case d.Attempts > 0 && !d.InFlight():
		p.State, p.NextAttemptAt = protocol.ProgressRetrying, &d.NextAt
	}
	return p
}

func renderFollowup(n *notebook.Service) func(context.Context, *outbound.Delivery) ([]byte, error) {
	return func(ctx context.Context, d *outbound.Delivery) ([]byte, error) {
		return n.Render(ctx, d.UserID, d.MessageID)
	}
}

// followupNotices forwards the result of a delivery to the notebooks.
type followupNotices struct{ *notebook.Service }

// Delivered implements outbound.Notices.
func (n followupNotices) Delivered(ctx context.Context, d *outbound.Delivery, reply []byte) error {
	return n.Service.Delivered(ctx, d.UserID, d.MessageID, reply)
}

// Failed implements outbound.Notices.
func (n followupNotices) Failed(ctx context.Context, d *outbound.Delivery, reason string) error {
	return n.Service.Failed(ctx, d.UserID, d.MessageID, reason)
}

// Disabled implements outbound.DisableNotices.
func (n followupNotices) Disabled(ctx context.Context, e *outbound.Endpoint, _ string) error {
	return n.WebhookDisabled(ctx, e.OwnerID, e.ID)
}

var (
	_ notebook.Outbox         = (*outbox)(nil)
	_ outbound.Notices        = followupNotices{}
	_ outbound.DisableNotices = followupNotices{}
)
