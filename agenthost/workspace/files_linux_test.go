package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/internal/process"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// counted has a manager count the confined processes that it starts, by their command.
func (k *kit) counted() func() string {
	k.Helper()
	var looks, reads, writes atomic.Int32
	k.SetReader("", func(_, _ string, _ bool, c process.Command) (process.Command, error) {
		switch c.Args[1] {
		case treereader.TreeCommand:
			looks.Add(1)
		case treereader.Command:
			reads.Add(1)
		default:
			writes.Add(1)
		}
		return c, nil
	})
	return func() string {
		return fmt.Sprintf("%d looks, %d reads, %d writes", looks.Swap(0), reads.Swap(0), writes.Swap(0))
	}
}

func TestShowingFilesStartsFewConfinedProcesses(t *testing.T) {
	t.Parallel()
	k, dir := viewed(t)
	write(t, dir, "src/a", "x\n")
	must(t, os.Symlink("a", filepath.Join(dir, "src", "l")))
	started := k.counted()
	k.list("src", "")
	equal(t, "a directory", started(), "1 looks, 0 reads, 0 writes")
	must1(t)(k.read("src/a", 0))
	equal(t, "a file", started(), "1 looks, 0 reads, 0 writes")
	k.find(protocol.FileSearch{Query: "x"})
	equal(t, "a search", started(), "1 looks, 1 reads, 0 writes")
}

// The host opens no file for what it shows: without the confined process it shows nothing.
func TestFilesAreShownByConfinedProcessesAlone(t *testing.T) {
	t.Parallel()
	k, _ := viewed(t)
	refused := errors.New("no process")
	k.SetReader("", func(string, string, bool, process.Command) (process.Command, error) {
		return process.Command{}, refused
	})
	_, errList := k.Directory(t.Context(), "s1", "shop", "", "")
	_, errRead := k.read("README", 0)
	_, errSearch := k.Search(t.Context(), "s1", "shop", protocol.FileSearch{Query: "x"}, plainText)
	for _, err := range []error{errList, errRead, errSearch} {
		if !errors.Is(err, refused) {
			t.Errorf("without a process: %v", err)
		}
	}
}

// While a program exchanges names for others, what is shown is of the workspace, and no answer is an error of the host.
func TestFilesAreShownWhileNamesAreExchanged(t *testing.T) {
	t.Parallel()
	const secret = "SECRET-40fe"
	for name, isInPlace := range map[string]bool{"a clone": false, "a directory in place": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside := t.TempDir()
			for _, name := range []string{"s", "e/s", ".gitignore", "HEAD", "index"} {
				write(t, outside, name, secret+"\n")
			}
			k := open(t, map[string]Project{"shop": {Path: newRepository(t), InPlace: isInPlace}})
			dir := k.session("s1", "shop")
			at := func(name string) string { return filepath.Join(dir, name) }
			long := strings.Repeat(strings.Repeat("n", 99)+"/", 30)
			for _, name := range []string{"d/s", "d/e/s", "d/.gitignore", "s", long + "s"} {
				write(t, dir, name, "inside\n")
			}
			for link, target := range map[string]string{
				"l": outside, "d/l": outside, "k": outside + "/s", "zero": "/dev/zero", "self": "self", "rules": outside + "/.gitignore",
			} {
				must(t, os.Symlink(target, at(link)))
			}
			must(t, unix.Mkfifo(at("p"), 0o600))
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				pairs := [][2]string{
					{"d", "l"},
					{"d/e", "d/l"},
					{"s", "k"},
					{"s", "p"},
					{"d", "p"},
					{"s", "zero"},
					{"d/.gitignore", "rules"},
					{".git", "l"},
					{".git", "p"},
					{".git/index", "p"},
					{".git/HEAD", "k"},
					{"d", "self"},
				}
				for i := 0; ctx.Err() == nil; i++ {
					pair := pairs[i/2%len(pairs)] // each exchange is undone by the next one
					a, b := at(pair[0]), at(pair[1])
					_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
				}
			}()
			shown := func(what string, answer any, err error) {
				if code := protocol.CodeOf(err); err != nil && code != protocol.CodeConflict && code != protocol.CodeGone {
					t.Errorf("%s: %v", what, err)
				}
				if text := fmt.Sprintf("%+v", answer); strings.Contains(text, secret) || strings.Contains(text, `\x00\x00`) {
					t.Errorf("%s shows what is outside: %.300s", what, text)
				}
			}
			for range testenv.Rounds(t) {
				for _, name := range []string{"", "d", "d/e", "l", "p", long, long + "s"} {
					list, err := k.Directory(t.Context(), "s1", "shop", strings.TrimSuffix(name, "/"), "")
					shown("the directory "+name, list, err)
				}
				for _, name := range []string{"s", "d/s", "d/e/s", "k", "p", "zero", "l/s", long + "s", strings.Repeat("n", 3000)} {
					content, err := k.read(name, 0)
					shown("the file "+name, content, err)
				}
				found, err := k.Search(t.Context(), "s1", "shop", protocol.FileSearch{Query: "i"}, plainText)
				shown("the search", found, err)
			}
			stop()
			<-ended
		})
	}
}
