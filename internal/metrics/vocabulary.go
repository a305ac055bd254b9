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
	seen map[string]struct{}
}

func newVocabulary(most int) *vocabulary {
	return &vocabulary{most: most, seen: map[string]struct{}{}}
}

// bound returns value, or other if value cannot be a label or enough others were seen before.
func (v *vocabulary) bound(value string) string {
	v.mu.RLock()
	_, known := v.seen[value]
	v.mu.RUnlock()
	if known {
		return value
	}
	if len(value) > maxLabel || !utf8.ValidString(value) {
		return other
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.seen) >= v.most {
		return other
	}
	v.seen[value] = struct{}{}
	return value
}
