package workspace

import (
	"errors"
	"os"
)

// linkAt cannot link relative to an open directory on Windows: the file is copied instead.
func linkAt(*os.File, string, string) error { return errors.ErrUnsupported }
