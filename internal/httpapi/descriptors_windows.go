package httpapi

// descriptorLimit is 0: Windows has no limit of its own for a process.
func descriptorLimit() uint64 { return 0 }
