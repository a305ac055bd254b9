package treesitter

import (
	"context"

	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

// withMemory makes instances keep their memory outside of Go's heap: its whole range is reserved,
// and only the used part counts against the limit of the process.
func withMemory(ctx context.Context) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(newMemory))
}

// memory is a reserved range of which the first bytes are usable.
type memory struct{ reserved []byte }

func newMemory(_, limit uint64) experimental.LinearMemory {
	reserved, err := unix.Mmap(-1, 0, int(limit), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON) //nolint:gosec // 96 MiB
	if err != nil {
		return &memory{}
	}
	return &memory{reserved}
}

// Reallocate implements experimental.LinearMemory; nil means that there is no memory.
func (m *memory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.reserved)) || unix.Mprotect(m.reserved[:size], unix.PROT_READ|unix.PROT_WRITE) != nil {
		return nil
	}
	return m.reserved[:size:size]
}

// Free implements experimental.LinearMemory.
func (m *memory) Free() {
	_ = unix.Munmap(m.reserved)
	m.reserved = nil
}
