package usershell

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/creack/pty"

	"bellhop/internal/process"
)

// helperCommand is the hidden command of the binary. The tests' binaries have it too.
const helperCommand = "user-shell"

// Kinds of frames on the helper's stdin: a byte for the kind, two for the length, the bytes.
const (
	frameInput = 'i'
	frameSize  = 's' // columns and rows, two bytes each
	maxFrame   = 1<<16 - 1
)

// drainTime is how long the output of programs that outlive the shell is still shown.
const drainTime = 200 * time.Millisecond

func init() {
	if len(os.Args) < 5 || os.Args[1] != helperCommand {
		return
	}
	code, err := help(os.Args[2], os.Args[3], os.Args[4:])
	if err != nil {
		_, _ = fmt.Fprintln(os.Stdout, "bellhop:", err)
	}
	os.Exit(code)
}

// help runs a shell in a new terminal until it exits or stdin ends, and returns its exit code.
func help(columns, rows string, shell []string) (int, error) {
	size, err := parseSize(columns, rows)
	if err != nil {
		return 1, err
	}
	cmd := exec.Command(shell[0], shell[1:]...) //nolint:noctx // ends with the terminal
	terminal, err := startWithSignals(cmd, size)
	if err != nil {
		return 1, fmt.Errorf("open a terminal: %w", err)
	}
	go func() {
		_ = pass(os.Stdin, terminal)
		process.HangUp(cmd.Process.Pid)
	}()
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		_, _ = io.Copy(os.Stdout, terminal)
	}()
	err = cmd.Wait()
	select {
	case <-shown:
	case <-time.After(drainTime):
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 1, err
	}
	return max(cmd.ProcessState.ExitCode(), 0), nil
}

// startWithSignals starts a shell that gets SIGHUP and SIGINT, also below a host that ignores them: nohup and scripts
// start programs so, and programs pass it on. A signal that this process handles has its default in the shell.
func startWithSignals(shell *exec.Cmd, size *pty.Winsize) (*os.File, error) {
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP, os.Interrupt)
	defer signal.Stop(handled)
	return pty.StartWithSize(shell, size)
}

func parseSize(columns, rows string) (*pty.Winsize, error) {
	c, errColumns := strconv.ParseUint(columns, 10, 16)
	r, errRows := strconv.ParseUint(rows, 10, 16)
	if err := errors.Join(errColumns, errRows); err != nil {
		return nil, fmt.Errorf("usage: %s COLUMNS ROWS SHELL…: %w", helperCommand, err)
	}
	return &pty.Winsize{Cols: uint16(c), Rows: uint16(r)}, nil
}

// pass applies frames to a terminal until they end.
func pass(frames io.Reader, terminal *os.File) error {
	head, body := make([]byte, 3), make([]byte, maxFrame)
	for {
		if _, err := io.ReadFull(frames, head); err != nil {
			return err
		}
		frame := body[:binary.BigEndian.Uint16(head[1:])]
		if _, err := io.ReadFull(frames, frame); err != nil {
			return err
		}
		switch {
		case head[0] == frameInput:
			if _, err := terminal.Write(frame); err != nil {
				return err
			}
		case head[0] == frameSize && len(frame) == 4:
			err := pty.Setsize(terminal, &pty.Winsize{
				Cols: binary.BigEndian.Uint16(frame), Rows: binary.BigEndian.Uint16(frame[2:]),
			})
			if err != nil {
				return err
			}
		default:
			return fmt.Errorf("unknown frame %q", head[0])
		}
	}
}

// appendFrame adds a frame with at most maxFrame bytes.
func appendFrame(frames []byte, kind byte, body []byte) []byte {
	frames = binary.BigEndian.AppendUint16(append(frames, kind), uint16(len(body))) //nolint:gosec // see above
	return append(frames, body...)
}
