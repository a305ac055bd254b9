package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

func TestTheOperatorsKeyStays(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	if _, err := ReadOperatorKey(data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the first start: %v", err)
	}
	first, err := openOperatorKey(data)
	if err != nil || !strings.HasPrefix(first.Reveal(), "bho_") || len(first.Reveal()) < minOperatorKey {
		t.Fatalf("%d characters, %v", len(first.Reveal()), err)
	}
	for name, read := range map[string]func() (string, error){
		"the next start": func() (string, error) { key, err := openOperatorKey(data); return key.Reveal(), err },
		"a command":      func() (string, error) { key, err := ReadOperatorKey(data); return key.Reveal(), err },
	} {
		if key, err := read(); key != first.Reveal() || err != nil {
			t.Errorf("%s has another key: %v", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(data, operatorKeyFile), []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openOperatorKey(data); protocol.CodeOf(err) != protocol.CodeInvalid {
		t.Errorf("a file that was cut: %v", err)
	}
}

func TestTheHostsDataIsPrivateWhateverWasThere(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	key := filepath.Join(data, operatorKeyFile)
	err := errors.Join(
		os.Mkdir(data, 0o700), os.WriteFile(key, []byte("bho_"+strings.Repeat("k", 43)+"\n"), 0o600),
		os.Chmod(key, 0o644), os.Chmod(data, 0o755), //nolint:gosec // the modes of before
	)
	if err != nil {
		t.Fatal(err)
	}
	_, stop := runHost(t, data, nil, &providertest.Fake{})
	defer stop()
	for path, want := range map[string]os.FileMode{
		data: 0o700, key: 0o600, filepath.Join(data, "journal.db"): 0o600,
		filepath.Join(data, "journal.db-wal"): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has the mode %o, want %o", path, got, want)
		}
	}
}
