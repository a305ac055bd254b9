// Package generations remembers values in bounded memory. A cache has two generations: when the young one
// is full it becomes the old one, and the former old one is forgotten. A value that is read
// in the old one moves to the young one. So the entries in use survive, and the cache is never empty at once.
package generations

import "sync"

// Cache holds at most as many values as its limit, and forgets by halves those that were not used for
// longest. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	mu         sync.Mutex
	limit      int
	young, old map[K]V
}

// New returns an empty cache for at most limit values; 0 remembers nothing.
func New[K comparable, V any](limit int) *Cache[K, V] { return &Cache[K, V]{limit: limit} }

// Get returns the value of a key.
func (c *Cache[K, V]) Get(key K) (value V, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if value, known = c.young[key]; known {
		return value, true
	}
	if value, known = c.old[key]; known {
		delete(c.old, key)
		c.put(key, value)
	}
	return value, known
}

// Put remembers a value.
func (c *Cache[K, V]) Put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.old, key)
	c.put(key, value)
}

// Clear forgets all values.
func (c *Cache[K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old = nil, nil
}

// put needs the lock. The old generation does not have the key.
func (c *Cache[K, V]) put(key K, value V) {
	if c.limit <= 0 {
		return
	}
	if _, known := c.young[key]; !known && len(c.young) >= max(1, c.limit/2) {
		c.old, c.young = c.young, nil
		if c.limit == 1 {
			c.old = nil
		}
	}
	if c.young == nil {
		c.young = map[K]V{}
	}
	c.young[key] = value
}

// Len returns the number of values.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.young) + len(c.old)
}
