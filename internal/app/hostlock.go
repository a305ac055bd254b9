package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"bellhop/internal/filelock"
	"bellhop/protocol"
)

// lockHost makes a second host on the same data directory fail before it touches anything there: it would take the
// agents of the first one for those of a crashed host, and end them. The system releases the lock when its file is
// closed, so also when the process ends. CodeConflict: another host has it.
func lockHost(data string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(data, "host.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unusableData(err)
	}
	switch err := filelock.Try(file); {
	case errors.Is(err, filelock.ErrHeld):
		return nil, errors.Join(&protocol.Error{
			Code: protocol.CodeConflict, Message: fmt.Sprintf("Another agent host runs on the data directory %s", data),
			Hint: "Stop it first, or give this one a directory of its own (BELLHOP_HOST_DATA; --data of 'bellhop dev').",
		}, file.Close())
	case err != nil:
		return nil, errors.Join(unusableData(err), file.Close())
	}
	return file, nil
}
