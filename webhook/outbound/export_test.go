package outbound

// SetDepth lowers the depth, so that fewer rows count as a long backlog.
func SetDepth(w *Worker, depth int) { w.depth = depth }
