package servers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"bellhop/internal/replacefile"
)

// maxRemembered bounds the keys in the file. A key that is forgotten gets another port.
const maxRemembered = 1024

// memory keeps the ports of keys in a file; without a file it keeps none. It is not safe for
// concurrent use.
type memory struct {
	file  string
	known []keyPort // the latest last
}

type keyPort struct {
	Key  string `json:"key"`
	Port int    `json:"port"`
}

// read loads the file. A missing one is empty; after an error the memory is empty.
func (m *memory) read() error {
	if m.file == "" {
		return nil
	}
	content, err := os.ReadFile(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var known []keyPort
	if err := json.Unmarshal(content, &known); err != nil {
		return fmt.Errorf("%s: %w", m.file, err)
	}
	m.known = known
	return nil
}

// port returns the key's last port, 0 if it is not known.
func (m *memory) port(key string) int {
	for _, k := range m.known {
		if k.Key == key && k.Port > 0 && k.Port <= 65535 {
			return k.Port
		}
	}
	return 0
}

// remember writes the file when the key's port has changed.
func (m *memory) remember(key string, port int) error {
	if m.file == "" || m.port(key) == port {
		return nil
	}
	m.known = slices.DeleteFunc(m.known, func(k keyPort) bool { return k.Key == key })
	m.known = append(m.known, keyPort{key, port})
	m.known = m.known[max(0, len(m.known)-maxRemembered):]
	content, err := json.Marshal(m.known)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(m.file), 0o700); err != nil {
		return err
	}
	return replacefile.Write(m.file, content, 0o600)
}
