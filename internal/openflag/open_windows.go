package openflag

import "os"

// openBelow does not follow a link that leads out of dir.
func openBelow(dir, name string, flags int) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenFile(name, os.O_RDONLY|flags, 0)
}
