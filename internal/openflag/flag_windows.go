package openflag

// Windows has none of them, and no FIFO among its files.
const (
	NoWait    = 0
	NoFollow  = 0
	Directory = 0
)
