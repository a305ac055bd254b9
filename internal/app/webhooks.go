package app

import (
	"context"
	"net/netip"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/internal/netguard"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
	outboundstore "bellhop/webhook/outbound/store"
)

// Webhooks lists a user's webhooks for tasks.
func (a *Admin) Webhooks(ctx context.Context, userID string) ([]outbound.Endpoint, error) {
	return a.endpoints().Endpoints(ctx, userID, outbound.KindTask)
}

// AddWebhook adds a webhook for tasks and returns its id and secret. Its URL must be public, or among allow.
func (a *Admin) AddWebhook(
	ctx context.Context, userID string, r outbound.EndpointRequest, allow []netip.Prefix,
) (id, secret string, err error) {
	guard := netguard.New(netguard.Options{AllowCIDRs: allow})
	r.Kind = outbound.KindTask
	e, err := outbound.New(outbound.Options{
		Store: outboundstore.New(a.db, a.sealer), CheckURL: guard.CheckURL, Now: a.config.Now, Log: a.config.Log,
	}).Register(ctx, userID, r)
	if err != nil {
		return "", "", err
	}
	return e.ID, e.Secret.Reveal(), nil
}

// RotateWebhook gives a user's webhook a new secret and returns it. The former one also signs for
// outbound.Overlap. CodeNotFound: the user has no such webhook.
func (a *Admin) RotateWebhook(ctx context.Context, userID, id string) (secret string, err error) {
	err = a.rotating(ctx, id, func(ctx context.Context) error {
		e, err := a.endpoints().Rotate(ctx, userID, outbound.KindTask, id, seal.Secret{})
		if err == nil {
			secret = e.Secret.Reveal()
		}
		return err
	})
	return secret, err
}

func (a *Admin) endpoints() *outbound.Service {
	return outbound.New(outbound.Options{Store: outboundstore.New(a.db, a.sealer), Now: a.config.Now, Log: a.config.Log})
}

// rotating runs rotate and adds its entry to the audit log, in one transaction. The entry does not have
// the webhook's URL, which may contain a secret.
func (a *Admin) rotating(ctx context.Context, id string, rotate func(ctx context.Context) error) error {
	return broker.Audited(ctx, a.Store, a.config.Now, func(ctx context.Context) (*broker.Act, error) {
		return &broker.Act{
			Action: protocol.AuditWebhookRotated, Subject: protocol.AuditSubject{Kind: protocol.AuditOfWebhook, ID: id},
		}, rotate(ctx)
	})
}
