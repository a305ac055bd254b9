package testenv

import (
	"bytes"
	"math"
	"net"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// programLimit is a guard against a hang, not an expectation.
const programLimit = 3 * time.Minute

// Program is a server of others that "make setup" installs. It must stay in the foreground and
// start no process of its own.
type Program struct {
	Name string
	Args []string
	Env  []string // added to this process's
	Addr string   // where it will accept connections
}

// Run starts the program and returns when it accepts connections. It ends with t, and with this
// process. The function that Run returns reads what the program has printed so far, the last 8 KiB
// of which are shown if t fails.
func (p Program) Run(t testing.TB) (printed func() string) {
	t.Helper()
	output := &lockedBuffer{}
	cmd := exec.Command(FindProgram(t, p.Name), p.Args...)
	cmd.Dir, cmd.Env = t.TempDir(), append(cmd.Environ(), p.Env...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s printed:\n%s", p.Name, output.tail(8<<10))
		}
	})
	awaitListener(t, p)
	return func() string { return output.tail(math.MaxInt) }
}

func awaitListener(t testing.TB, p Program) {
	t.Helper()
	limit := time.NewTimer(programLimit)
	defer limit.Stop()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		conn, err := net.Dial("tcp", p.Addr)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-poll.C:
		case <-limit.C:
			t.Fatalf("%s does not listen: %v", p.Name, err)
		}
	}
}

// FindProgram returns the path of a program that "make setup" installs. For an ordinary user it need
// not be in the PATH.
func FindProgram(t testing.TB, name string) string {
	t.Helper()
	for _, candidate := range []string{name, filepath.Join("/usr/sbin", name), filepath.Join("/usr/local/sbin", name)} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	t.Fatalf("%s is not installed: run make setup", name)
	return ""
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) tail(n int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.buf.Bytes()
	return string(all[max(0, len(all)-n):])
}
