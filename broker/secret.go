package broker

import (
	"context"
	"net/http"
	"time"

	"bellhop/crypto/seal"
	"bellhop/crypto/signature"
	"bellhop/internal/generations"
	"bellhop/protocol"
)

const secretTTL = 30 * time.Second

// WebhookKeys are what a host's requests to the webhook are checked with.
type WebhookKeys struct {
	Secret    seal.Secret   // of the webhook tokens
	Signs     bool          // the host announced that it signs its requests
	Passwords []seal.Secret // of a host that signs, newest first
	URL       string        // of the host, or the task's own; "" = none
}

// secretCache avoids a query and a decryption for each webhook request. The secret of a task's
// tokens never changes; the keys of signatures do, see checkSignature.
type secretCache = generations.Cache[string, cachedKeys]

type cachedKeys struct {
	secret []byte
	signed []signature.Key // empty: signatures are not required
	url    string          // where the host is reached; "" = not known
	loaded time.Time
}

func errNotConfigured() error {
	return protocol.Errorf(protocol.CodeNotFound, "Task not found or not configured")
}

// Secret returns the key of a task's webhook tokens. The caller must not change it.
// Deleted tasks keep their key for 48 h. A task without a key is CodeNotFound.
func (s *Ingest) Secret(ctx context.Context, taskID string) ([]byte, error) {
	keys, err := s.webhookKeys(ctx, taskID, secretTTL)
	return keys.secret, err
}

// webhookKeys returns the keys of a task, as they were at most maxAge ago.
func (s *Ingest) webhookKeys(ctx context.Context, taskID string, maxAge time.Duration) (cachedKeys, error) {
	now := s.Now()
	secrets := s.remembered().secrets
	if keys, ok := secrets.Get(taskID); ok && now.Before(keys.loaded.Add(maxAge)) {
		return keys, nil
	}
	stored, err := s.Store.WebhookKeys(ctx, taskID, now)
	switch {
	case protocol.CodeOf(err) == protocol.CodeNotFound:
		return cachedKeys{}, errNotConfigured()
	case err != nil:
		return cachedKeys{}, err
	case stored.Secret.IsZero():
		return cachedKeys{}, errNotConfigured()
	}
	keys := cachedKeys{secret: []byte(stored.Secret.Reveal()), url: stored.URL, loaded: now}
	if stored.Signs {
		for _, password := range stored.Passwords {
			key, err := signature.OfSession(password, taskID)
			if err != nil {
				return cachedKeys{}, err
			}
			keys.signed = append(keys.signed, key)
		}
	}
	secrets.Put(taskID, keys)
	return keys, nil
}

// CheckLife accepts a request of the life of the task's host that the broker serves, and of a host that names none.
// CodeTwoCopies, CodeUnavailable: see HostLives.
func (s *Ingest) CheckLife(ctx context.Context, taskID string, header http.Header) error {
	life := protocol.ParseLife(header.Get(protocol.HeaderLife))
	if s.Lives == nil || life.IsZero() {
		return nil
	}
	keys, err := s.webhookKeys(ctx, taskID, secretTTL)
	if err == nil {
		err = s.Lives.Check(ctx, taskID, keys.url, life)
	}
	if protocol.CodeOf(err) != protocol.CodeTwoCopies {
		return err
	}
	// The host may have another URL by now.
	reloaded, failed := s.webhookKeys(ctx, taskID, signatureReload)
	if failed != nil || reloaded.url == keys.url {
		return err
	}
	return s.Lives.Check(ctx, taskID, reloaded.url, life)
}
