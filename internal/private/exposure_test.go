//go:build unix

package private_test

import (
	"os"
	"path/filepath"
	"testing"

	"bellhop/internal/private"
)

// openToGroup says what a file for its group is: packages give a service secrets of root so.
func openToGroup() string {
	if os.Getuid() == 0 {
		return ""
	}
	return "open"
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOthersCanOpenAFileByItsModeUnlessAFolderIsClosed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, folder, above os.FileMode
		want                string // "" private, "open", or what guards it
	}{
		"private":                    {0o600, 0o755, 0o755, ""},
		"read by all":                {0o644, 0o755, 0o755, "open"},
		"read by others":             {0o604, 0o755, 0o755, "open"},
		"written by others":          {0o602, 0o755, 0o755, "open"},
		"a closed folder":            {0o644, 0o700, 0o755, "folder"},
		"a closed folder above":      {0o644, 0o755, 0o700, "above"},
		"a folder that others list":  {0o644, 0o704, 0o755, "folder"},
		"a folder that others enter": {0o644, 0o701, 0o755, "open"},
		"read by its group":          {0o640, 0o755, 0o755, openToGroup()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir() // below folders that others can enter
			for folder := top; folder != os.TempDir(); folder = filepath.Dir(folder) {
				must(t, os.Chmod(folder, 0o755))
			}
			above, folder := filepath.Join(top, "above"), filepath.Join(top, "above", "folder")
			file, link := filepath.Join(folder, "secret"), filepath.Join(top, "link")
			must(t, os.MkdirAll(folder, 0o700))
			must(t, os.WriteFile(file, []byte("x"), 0o600))
			must(t, os.Chmod(file, c.file))
			must(t, os.Symlink(file, link))
			must(t, os.Chmod(folder, c.folder))
			must(t, os.Chmod(above, c.above))
			for _, path := range []string{file, link} {
				got, err := private.ExposureOf(path)
				must(t, err)
				want := private.Exposure{Mode: c.file}
				switch c.want {
				case "":
					want.Mode = 0
				case "folder":
					want.Guard = "its folder " + folder
				case "above":
					want.Guard = "its folder " + above
				}
				if got != want || got.IsOpen() != (c.want == "open") {
					t.Errorf("%s is %+v, want %+v", path, got, want)
				}
			}
		})
	}
}

func TestWhatIsNoFileIsNotOpen(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	must(t, err)
	defer func() { _, _ = read.Close(), write.Close() }()
	for _, path := range []string{os.DevNull, "/dev/fd/0"} {
		if got, err := private.ExposureOf(path); err == nil && got.IsOpen() {
			t.Errorf("%s is %+v", path, got)
		}
	}
}
