package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
)

// copyOnWrite is a map that grows a few times and is read for each operation, without a lock, for which requests at
// once would wait. Each change copies it. The zero value is empty.
type copyOnWrite[K comparable, V any] struct {
	now atomic.Pointer[map[K]V]
	mu  sync.Mutex // one change at a time
}

func (m *copyOnWrite[K, V]) get(key K) (value V, ok bool) {
	if now := m.now.Load(); now != nil {
		value, ok = (*now)[key]
	}
	return value, ok
}

func (m *copyOnWrite[K, V]) len() int {
	if now := m.now.Load(); now != nil {
		return len(*now)
	}
	return 0
}

// add returns the value that the key has then: that of the first add. It adds nothing to a map of most entries.
func (m *copyOnWrite[K, V]) add(key K, value V, most int) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.get(key); ok {
		return known, true
	}
	if m.len() >= most {
		return value, false
	}
	next := make(map[K]V, m.len()+1) // a map that grows moves its entries several times
	next[key] = value
	if now := m.now.Load(); now != nil {
		maps.Copy(next, *now)
	}
	m.now.Store(&next)
	return value, true
}
