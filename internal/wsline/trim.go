package wsline

import "slices"

// Forget drops the lines of finished turns, for sessions whose history is stored elsewhere.
// During a turn it does nothing.
func (h *Hub) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lines.turn < 0 {
		h.lines = newTranscript()
	}
}

// Trim halves the transcript when it reaches its bound: it keeps the newest lines and open
// questions. It is for sessions whose history is stored elsewhere, since a turn may be long.
func (h *Hub) Trim() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lines.size >= h.limits.Transcript {
		h.lines.trim(h.limits.Transcript / 2)
	}
}

func (t *transcript) trim(keep int) {
	ids := make(map[int]string, len(t.open)) // ids of open questions by index
	for id, at := range t.open {
		ids[at] = id
	}
	kept := make([]entry, 0, len(t.entries))
	for i := range t.entries {
		id, open := ids[i]
		if t.size > keep && !open {
			t.size -= len(t.entries[i].raw)
			continue
		}
		if open {
			t.open[id] = len(kept)
		}
		kept = append(kept, t.entries[i])
	}
	t.entries = slices.Clip(kept)
	if t.turn >= 0 {
		t.turn = 0 // all kept lines belong to the open turn
	}
}
