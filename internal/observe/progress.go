package observe

import "context"

type progressKey struct{}

// WithProgress calls f with the number of rows each time that work with the returned context has
// deleted or changed some. f must not block.
func WithProgress(ctx context.Context, f func(rows int64)) context.Context {
	return context.WithValue(ctx, progressKey{}, f)
}

// Progress reports rows to the function that WithProgress put into the context, if there is one.
func Progress(ctx context.Context, rows int64) {
	if f, ok := ctx.Value(progressKey{}).(func(int64)); ok && rows > 0 {
		f(rows)
	}
}
