//go:build !linux

package treesitter

import "context"

func withMemory(ctx context.Context) context.Context { return ctx }
