package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"bellhop/protocol"
)

// Limits of the metadata of one workspace, the last two in bytes.
const (
	maxMetadata      = 64
	maxMetadataKey   = 64
	maxMetadataValue = 4 << 10
)

// Metadata returns the key-value pairs of the workspace that contains path; the
// map is never nil.
func (m *Manager) Metadata(_ context.Context, path string) (map[string]string, error) {
	rec, err := m.findByPath(path)
	if err != nil {
		return nil, err
	}
	return m.readMetadata(rec)
}

// SetMetadata stores a value, or deletes the key if value is nil. CodeInvalid:
// a key over 64 or a value over 4096 bytes, or more than 64 keys.
func (m *Manager) SetMetadata(ctx context.Context, path, key string, value *string) error {
	rec, err := m.findByPath(path)
	if err != nil {
		return err
	}
	if key == "" || len(key) > maxMetadataKey {
		return protocol.Errorf(protocol.CodeInvalid, "key must be 1 to %d bytes", maxMetadataKey)
	}
	if value != nil && len(*value) > maxMetadataValue {
		return protocol.Errorf(protocol.CodeInvalid, "value must be at most %d bytes", maxMetadataValue)
	}
	release, err := m.locks.acquire(ctx, "metadata:"+metadataKey(m, rec))
	if err != nil {
		return err
	}
	defer release()
	return m.updateMetadata(rec, key, value)
}

// updateMetadata changes the file. The caller holds the lock of the metadata.
func (m *Manager) updateMetadata(rec *record, key string, value *string) error {
	values, err := m.readMetadata(rec)
	if err != nil {
		return err
	}
	if value == nil {
		delete(values, key)
	} else {
		values[key] = *value
	}
	if len(values) > maxMetadata {
		return protocol.Errorf(protocol.CodeInvalid, "A workspace has at most %d keys", maxMetadata)
	}
	content, err := json.Marshal(values)
	if err != nil {
		return err
	}
	return writeFile(m.metadataPath(rec), append(content, '\n'))
}

func (m *Manager) readMetadata(rec *record) (map[string]string, error) {
	values := map[string]string{}
	content, err := os.ReadFile(m.metadataPath(rec))
	if errors.Is(err, fs.ErrNotExist) {
		return values, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &values)
	}
	if err != nil {
		return nil, fmt.Errorf("workspace metadata: %w", err)
	}
	return values, nil
}

// metadataKey names the metadata file. Sessions that share a directory share it.
func metadataKey(m *Manager, rec *record) string {
	if rec.Kind == kindShared {
		return "~" + shortHash(m.rootDir(rec))
	}
	return rec.Key
}

func (m *Manager) metadataPath(rec *record) string {
	return m.dataPath("workspaces", ".records/"+metadataKey(m, rec)+".metadata")
}

func (m *Manager) removeMetadata(rec *record) error {
	if rec.Kind == kindShared {
		return nil
	}
	err := os.Remove(m.metadataPath(rec))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
