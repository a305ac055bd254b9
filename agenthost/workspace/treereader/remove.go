package treereader

import (
	"errors"
	"io/fs"
	"strconv"
	"time"
)

// Bounds of a removal.
const (
	maxRemovalDepth = 200              // a directory below it is moved up first, so that few are open at once
	removalPasses   = 3                // over one directory, while programs fill it
	removalTime     = 20 * time.Second // after which no name is removed in another pass than the first one
)

// remover removes all that is below a directory.
type remover struct {
	root    directory
	now     func() time.Time
	end     time.Time
	repeats int      // passes around this one that are not the first over their directory
	tries   int      // to move a directory up
	moved   int      // of these
	left    *Failure // the first name that cannot be removed
}

func (r *remover) run() error {
	r.end = r.now().Add(removalTime)
	for { // what was moved up is removed by another pass
		moved := r.moved
		r.left = nil
		r.empty(r.root, "", 0)
		if r.left == nil {
			return nil
		}
		if r.moved == moved {
			return r.left
		}
	}
}

// keep notes a name that cannot be removed.
func (r *remover) keep(path string, why Cause) {
	if r.left == nil {
		r.left = &Failure{path, why}
	}
}

// empty removes all that is in a directory. What is found by the first passes is finite, and may take its time.
func (r *remover) empty(d directory, prefix string, depth int) {
	d.allow()
	before := r.left
	for pass := range removalPasses {
		names, err := d.names(maxListed)
		if err != nil && !errors.Is(err, errEntries) {
			r.keep(prefix, IsClosed)
			return
		}
		if len(names) == 0 || r.left != before { // another pass would fail as this one
			return
		}
		if pass == 1 {
			r.repeats++
			defer func() { r.repeats-- }()
		}
		for _, name := range names {
			if r.repeats > 0 && r.now().After(r.end) {
				r.keep(prefix+name, IsInUse)
				return
			}
			if err := r.remove(d, name, prefix+name, depth); err != nil && !errors.Is(err, fs.ErrNotExist) {
				r.keep(prefix+name, removalCause(err))
			}
		}
	}
	if names, err := d.names(1); err != nil || len(names) > 0 {
		r.keep(prefix, IsInUse)
	}
}

func removalCause(err error) Cause {
	if isNotEmpty(err) || changesKind(err) {
		return IsInUse
	}
	return IsClosed
}

// remove removes one name. If it changes its kind meanwhile, it begins again.
func (r *remover) remove(d directory, name, path string, depth int) (err error) {
	for range attempts {
		var e entry
		if e, err = d.entry(name); err != nil {
			return err
		}
		if e.kind == KindDirectory {
			err = r.removeTree(d, name, path, depth)
		} else {
			err = d.remove(name)
		}
		if err == nil || !changesKind(err) && !isNotEmpty(err) {
			return err
		}
	}
	return err
}

func (r *remover) removeTree(d directory, name, path string, depth int) error {
	if err := d.removeDirectory(name); !isNotEmpty(err) {
		return err
	}
	child, err := d.open(name)
	if errors.Is(err, fs.ErrPermission) {
		d.allowIn(name)
		child, err = d.open(name)
	}
	if err != nil {
		return err
	}
	defer child.close()
	if depth >= maxRemovalDepth {
		r.tries++
		child.allow()
		if err := d.move(name, r.root, ".bellhop-removed-"+strconv.Itoa(r.tries)); err != nil {
			return err
		}
		r.moved++
		r.keep(path, IsInUse) // until the next pass
		return nil
	}
	r.empty(child, path+"/", depth+1)
	if err := d.removeDirectory(name); !isNotEmpty(err) {
		return err
	}
	return nil // empty has said why
}
