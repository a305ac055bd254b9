package metrics

import (
	"sync"
	"unicode/utf8"
)

// other stands for label values beyond the limits of a vocabulary.
const other = "other"

// maxLabel is the length of the longest label value, in bytes.
const maxLabel = 120

// vocabulary limits the values of a label, because every value is a series that is kept for as
// long as the process runs. Values come from the code and from operators' configuration, so the
// limit is reached only by mistake.
type vocabulary struct {
	most int
	mu   sync.RWMutex
	seen map[string]bool
}

// bound returns value, or other if value cannot be a label or enough others were seen before.
func (v *vocabulary) bound(value string) string {
	v.mu.RLock()
	isKnown := v.seen[value]
	v.mu.RUnlock()
	if isKnown {
		return value
	}
	if len(value) > maxLabel || !utf8.ValidString(value) {
		return other
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.seen[value] && len(v.seen) >= v.most {
		return other
	}
	if v.seen == nil {
		v.seen = map[string]bool{}
	}
	v.seen[value] = true
	return value
}
