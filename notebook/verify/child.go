package verify

import (
	"context"
	"errors"
	"fmt"
)

// child runs the check in a worker process. If the process ends before its answer, the result
// is unsupported, with the reason: the code may still be correct.
func (v *Verifier) child(ctx context.Context, language, code string) finding {
	if len(v.o.Worker) == 0 {
		return unsupported("This server runs no checker for " + language)
	}
	select {
	case v.slots <- struct{}{}:
		defer func() { <-v.slots }()
	case <-ctx.Done():
		return unsupported("The request ended before the code could be checked")
	}
	for {
		found, reused, err := v.try(ctx, request{Language: language, Code: code})
		if err == nil {
			return found
		}
		if ctx.Err() != nil {
			return unsupported("The request ended before the code could be checked")
		}
		if !reused {
			return v.failed(ctx, language, err)
		}
		// Earlier requests may have weakened the process: this code gets a fresh one.
	}
}

// timeout is the end of a request at one of its time limits.
type timeout struct{ error }

// startError is the failure of a process before it got any code.
type startError struct{ error }

func (v *Verifier) failed(ctx context.Context, language string, err error) finding {
	if _, ended := err.(timeout); ended { //nolint:errorlint // try returns it unwrapped
		return unsupported("The checker was ended after its time was over")
	}
	var start startError
	if errors.As(err, &start) {
		v.o.Log.ErrorContext(ctx, "verify-worker did not start", "language", language, "error", err)
		return unsupported("The checker of this server did not start")
	}
	v.o.Log.WarnContext(ctx, "verify-worker failed", "language", language, "error", err)
	return unsupported("The checker could not finish: the code is too complex for it")
}

// try sends the request to one process. reused reports that a process which had served other
// requests failed, and not by a time limit: a fresh process may succeed.
func (v *Verifier) try(ctx context.Context, r request) (found finding, reused bool, err error) {
	p, err := v.ready(ctx, r.Language)
	if err != nil {
		return finding{}, false, startError{err}
	}
	if found, err = v.serve(ctx, p, r); err != nil {
		p.stop()
		_, ended := err.(timeout) //nolint:errorlint // serve returns it unwrapped
		return finding{}, p.used && !ended, err
	}
	if found.Retire {
		p.stop()
	} else {
		v.pool.put(p)
	}
	return found, false, nil
}

// ready returns a process that has loaded what a language needs. One that has served requests may have too
// little memory left to load it, and so has one that had to compile the grammars: another one loads the
// stored result.
func (v *Verifier) ready(ctx context.Context, language string) (*process, error) {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		p, err := v.pool.take()
		if err != nil || p.prepared[needs(language)] {
			return p, err
		}
		// The next request needs this too, so the end of this caller's ctx does not stop it.
		limited, cancel := v.limit(context.WithoutCancel(ctx), p, limits{prepareProcessorLimit, prepareLimit})
		found, err := p.exchange(limited, request{Language: language, Prepare: true, Cache: v.cache()})
		cancel()
		if err == nil && (!found.Retire || attempt == attempts) {
			p.prepared[needs(language)] = true
			return p, nil
		}
		p.stop()
		if attempt == attempts {
			return nil, fmt.Errorf("prepare: %w", err)
		}
	}
}

func (v *Verifier) serve(ctx context.Context, p *process, r request) (finding, error) {
	limited, cancel := v.limit(ctx, p, limits{v.o.ProcessorLimit, v.o.Limit})
	defer cancel()
	found, err := p.exchange(limited, r)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = timeout{err}
	}
	return found, err
}

func unsupported(reason string) finding { return finding{Unsupported: true, Reason: reason} }
