package bench

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sync/errgroup"
)

// run is one run of a scenario. As in a test, the first error ends the scenario:
// check and must panic with a failure, which settings.run turns into an error.
// Everything that was started is closed in reverse order.
type run struct {
	*settings
	ctx     context.Context
	closers []func() error
}

type failure struct{ err error }

func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

// caught calls f and returns the error that ended it.
func caught(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p.err
		default:
			panic(p)
		}
	}()
	f()
	return nil
}

// run measures one scenario.
func (s *settings) run(ctx context.Context, c scenario) (rows []row, err error) {
	r := &run{settings: s, ctx: ctx}
	err = caught(func() { rows = c.measure(r) })
	for i := len(r.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, r.closers[i]())
	}
	transport.CloseIdleConnections()
	return rows, err
}

// onClose registers a function that ends something that the run started.
func (r *run) onClose(f func() error) { r.closers = append(r.closers, f) }

// dir creates a folder that is removed at the end of the run.
func (r *run) dir() string {
	dir := must(os.MkdirTemp("", "bellhop-bench-"))
	r.onClose(func() error { return os.RemoveAll(dir) })
	return dir
}

// parallel calls f for 0 to n-1, with at most atATime calls at once; the first
// failure ends it.
func (r *run) parallel(n, atATime int, f func(ctx context.Context, i int)) {
	group, inGroup := errgroup.WithContext(r.ctx)
	group.SetLimit(atATime)
	for i := range n {
		group.Go(func() error {
			return caught(func() {
				check(inGroup.Err())
				f(inGroup, i)
			})
		})
	}
	check(errors.Join(group.Wait(), r.ctx.Err()))
}
