package private_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"bellhop/internal/private"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestModesOfBeforeDoNotStay(t *testing.T) {
	t.Parallel()
	for _, before := range []os.FileMode{0o666, 0o640, 0o604, 0o600, 0o700} {
		path := filepath.Join(t.TempDir(), "f")
		if err := errors.Join(os.WriteFile(path, []byte("kept"), 0o600), os.Chmod(path, before)); err != nil {
			t.Fatal(err)
		}
		if err := private.File(path); err != nil || mode(t, path)&0o077 != 0 {
			t.Errorf("a file with %o: %v, now %o", before, err, mode(t, path))
		}
		if content, err := os.ReadFile(path); string(content) != "kept" || err != nil {
			t.Errorf("its content: %q, %v", content, err)
		}
	}
	for _, before := range []os.FileMode{0o777, 0o755, 0o750, 0o701, 0o700} {
		path := filepath.Join(t.TempDir(), "d")
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, before)); err != nil {
			t.Fatal(err)
		}
		if err := private.Dir(path); err != nil || mode(t, path) != 0o700 {
			t.Errorf("a directory with %o: %v, now %o", before, err, mode(t, path))
		}
	}
}

func TestWhatIsMissingIsMade(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	file := filepath.Join(dir, "f")
	if err := private.File(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file without its directory: %v", err)
	}
	if err := errors.Join(private.Dir(dir), private.Existing(file)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Existing made a file: %v", err)
	}
	if err := private.File(file); err != nil || mode(t, file) != 0o600 || mode(t, dir) != 0o700 {
		t.Errorf("%v: %o in %o", err, mode(t, file), mode(t, dir))
	}
}

// The last process that closes a SQLite database removes its WAL, while another may open it.
func TestAFileThatIsRemovedMeanwhileIsNoError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 5000 {
			_ = os.Remove(path)
		}
	}()
	for isDone := false; !isDone; {
		select {
		case <-done:
			isDone = true
		default:
			if err := private.File(path); err != nil {
				t.Error(err)
			}
		}
	}
}
