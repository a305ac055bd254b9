package e2e

import (
	"net"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// debian lists the packages of programs that "make setup" installs.
var debian = []string{"/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"}

// findProgram returns the path of a program, which for an ordinary user need not be in the PATH.
func findProgram(t testing.TB, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, folder := range debian {
		if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return path
		}
	}
	t.Fatalf("%s is not installed: run make setup", name)
	return ""
}

// runProgram runs a server of others in the foreground until the test ends, and returns when it
// accepts connections on addr. It ends with the test's process too.
func runProgram(t testing.TB, addr string, env []string, name string, args ...string) {
	t.Helper()
	var output journalOfOutput
	cmd := exec.Command(findProgram(t, name), args...)
	cmd.Dir, cmd.Env = t.TempDir(), append(cmd.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the end of what %s printed:\n%s", name, lastLines(output.String(), 40))
		}
	})
	eventually(t, name+" listens", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}
