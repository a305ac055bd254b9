package broker

import (
	"context"
	"sync"
	"time"

	"bellhop/protocol"
)

const (
	secretTTL  = 30 * time.Second
	maxSecrets = 20_000
)

// secretCache avoids a query and a decryption for each webhook request. It never
// expires, because a task's secret never changes.
type secretCache struct {
	mu      sync.Mutex
	entries map[string]cachedSecret
}

type cachedSecret struct {
	value   []byte
	expires time.Time
}

func (c *secretCache) get(taskID string, now time.Time) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, ok := c.entries[taskID]
	return entry.value, ok && now.Before(entry.expires)
}

func (c *secretCache) put(taskID string, value []byte, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil || len(c.entries) >= maxSecrets {
		c.entries = map[string]cachedSecret{}
	}
	c.entries[taskID] = cachedSecret{value: value, expires: now.Add(secretTTL)}
}

func errNotConfigured() error {
	return protocol.Errorf(protocol.CodeNotFound, "Task not found or not configured")
}

// Secret returns the key of a task's webhook tokens. The caller must not change it.
// Deleted tasks keep their key for 48 h. A task without a key is CodeNotFound.
func (s *Ingest) Secret(ctx context.Context, taskID string) ([]byte, error) {
	now := s.Now()
	if secret, ok := s.secrets.get(taskID, now); ok {
		return secret, nil
	}
	secret, err := s.Store.WebhookSecret(ctx, taskID)
	switch {
	case protocol.CodeOf(err) == protocol.CodeNotFound:
		return nil, errNotConfigured()
	case err != nil:
		return nil, err
	case secret.IsZero():
		return nil, errNotConfigured()
	}
	value := []byte(secret.Reveal())
	s.secrets.put(taskID, value, now)
	return value, nil
}
