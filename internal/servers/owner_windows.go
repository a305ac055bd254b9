package servers

import "errors"

// identify knows no process: servers are not started on Windows.
func identify(int) (Owner, error) { return Owner{}, errors.ErrUnsupported }

// listener is not known on Windows.
func listener(int, int) (owner Owner, listening, known bool) { return Owner{}, false, false }
