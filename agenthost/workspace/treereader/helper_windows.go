package treereader

// limitProcess does nothing: this system has no such limits.
func limitProcess(uint64) error { return nil }
