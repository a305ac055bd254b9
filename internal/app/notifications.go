package app

import (
	"context"
	"strings"

	"bellhop/broker"
	"bellhop/crypto/webpush"
	"bellhop/internal/netguard"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/notification"
)

// newNotifications returns the use cases of notifications to browsers.
func (a *Admin) newNotifications(
	sending *outbound.Service, store outbound.Store, guard *netguard.Guard, identity *webpush.Identity,
) *notification.Service {
	return notification.New(notification.Service{
		Outbound: sending, Store: store, CheckURL: guard.CheckURL, Identity: identity,
		Contact: contactOf(a.config.PublicURL), SignedIn: a.Auth.SignedIn, Open: a.questionOpen,
		Record: a.recordNotifications, Now: a.config.Now, Log: a.config.Log,
	})
}

// contactOf is how the operator of a push service reaches this installation. A service may refuse a URL without
// TLS, so such an installation names an address of its own machine.
func contactOf(publicURL string) string {
	if strings.HasPrefix(publicURL, "https://") {
		return publicURL
	}
	return "mailto:bellhop@localhost"
}

// notificationIdentity returns the key pair by which push services know this installation.
func (a *Admin) notificationIdentity(ctx context.Context) (*webpush.Identity, error) {
	made, err := webpush.Generate()
	if err != nil {
		return nil, err
	}
	key, err := a.Store.NotificationKey(ctx, made)
	if err != nil {
		return nil, err
	}
	return webpush.Parse(key)
}

// questionOpen reports whether a question still waits for the user.
func (a *Admin) questionOpen(ctx context.Context, userID, id string) (bool, error) {
	q, err := a.Store.Interaction(ctx, userID, id)
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return false, nil
	}
	return err == nil && q.State == protocol.InteractionOpen, err
}

// recordNotifications runs do and adds the act of a user to the audit log, in one transaction.
func (a *Admin) recordNotifications(
	ctx context.Context, act notification.Act, do func(ctx context.Context) error,
) error {
	return broker.Audited(ctx, a.Store, a.config.Now, func(ctx context.Context) (*broker.Act, error) {
		return &broker.Act{
			Action: act.Action, Subject: protocol.AuditSubject{Kind: protocol.AuditOfUser, ID: act.UserID},
			Detail: map[string]string{"browser": act.Browser},
		}, do(ctx)
	})
}
