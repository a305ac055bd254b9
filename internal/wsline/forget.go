package wsline

// Forget drops the lines of turns that are over, for sessions whose history is
// kept elsewhere. During a turn it does nothing.
func (h *Hub) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lines.turn < 0 {
		h.lines = newTranscript()
	}
}
