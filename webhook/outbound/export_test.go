package outbound

// SetDepth makes a backlog long with fewer rows.
func SetDepth(w *Worker, depth int) { w.depth = depth }
