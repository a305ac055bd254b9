package usershell

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// page is a screen that keeps what it shows.
type page struct {
	t     *testing.T
	quiet bool // acknowledges nothing

	mu      sync.Mutex
	changed sync.Cond
	shell   *Shell
	output  bytes.Buffer

	isRepeated bool

	cause error
	code  int
}

func newPage(t *testing.T) *page {
	p := &page{t: t}
	p.changed.L = &p.mu
	return p
}

func (p *page) Begin(last []byte, isRepeated bool) error {
	p.isRepeated = isRepeated
	return p.Show(last)
}

func (p *page) Show(output []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.output.Write(output)
	p.changed.Broadcast()
	if !p.quiet {
		go p.shell.Acknowledge(p, len(output))
	}
	return nil
}

func (p *page) Leave(cause error, code int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cause, p.code = cause, code
	p.changed.Broadcast()
}

// until waits until holds.
func (p *page) until(holds func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !holds() {
		p.changed.Wait()
	}
}

func (p *page) untilShown(text string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for !strings.Contains(p.output.String(), text) {
		if p.cause != nil {
			p.t.Fatalf("left (%v) before %q was shown: %q", p.cause, text, p.output.String())
		}
		p.changed.Wait()
	}
}

func (p *page) untilLeft() error {
	p.until(func() bool { return p.cause != nil })
	return p.cause
}

// site is the shells of a test's host.
type site struct {
	*testing.T
	*Shells
	place Place
	clock time.Time
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{T: t, place: Place{Session: "s1", Dir: t.TempDir(), Home: t.TempDir()}, clock: time.Now()}
	var err error
	s.Shells, err = New(Options{
		Command: []string{"/bin/sh"}, PerSession: 2, Now: func() time.Time { return s.clock },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.End(ErrSession, func(*Shell) bool { return true })
		s.running.Wait()
	})
	return s
}

var usual = Size{Columns: 80, Rows: 24}

func (s *site) open(p *page) *Shell {
	s.Helper()
	shell, err := s.Open(s.place, usual)
	if err == nil {
		p.shell = shell
		err = shell.Show(p)
	}
	if err != nil {
		s.Fatal(err)
	}
	return shell
}

func (s *site) run(shell *Shell, line string) {
	s.Helper()
	if err := shell.Type([]byte(line + "\n")); err != nil {
		s.Fatal(err)
	}
}

func TestWhatIsTypedRunsInATerminalOfTheWorkspace(t *testing.T) {
	t.Setenv("BELLHOP_HOST_PASSWORD", "canary-of-the-host")
	t.Setenv("LANG", "")
	t.Setenv("LC_ALL", "")
	_ = os.Unsetenv("LANG")
	_ = os.Unsetenv("LC_ALL")
	s, p := newSite(t), newPage(t)
	shell := s.open(p)
	s.run(shell, `echo "at $(pwd) $HOME"; test -t 0 && test -t 1 && echo a"-"terminal; stty size`)
	p.untilShown("at " + s.place.Dir + " " + s.place.Home)
	p.untilShown("a-terminal")
	p.untilShown("24 80")
	if err := shell.Resize(Size{Columns: 100, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	s.run(shell, "stty size; locale charmap; env; echo all'-'shown")
	p.untilShown("UTF-8")
	p.untilShown("30 100")
	p.untilShown("all-shown")
	if strings.Contains(p.output.String(), "canary-of-the-host") {
		t.Error("the shell has a variable of the host")
	}
	s.run(shell, `sh -c 'echo sleeps"-"now; exec sleep 1000'`) // a program that has not started gets no Ctrl C
	p.untilShown("sleeps-now")
	s.run(shell, "\x03")
	s.run(shell, "echo interrup'ted'")
	p.untilShown("interrupted")
	s.run(shell, "exit 7")
	if err := p.untilLeft(); !errors.Is(err, ErrExited) || p.code != 7 {
		t.Errorf("left: %v, %d", err, p.code)
	}
	if _, err := s.Find("s1", shell.ID); protocol.CodeOf(err) != protocol.CodeGone {
		t.Errorf("an ended shell: %v", err)
	}
}

// A program that floods waits for the screen: it has not ended when another one, with a screen that keeps up, has
// written four times as much.
func TestAFloodedScreenGetsNoMoreThanItsWindow(t *testing.T) {
	t.Parallel()
	s, slow, fast := newSite(t), newPage(t), newPage(t)
	slow.quiet = true
	flooded, other := s.open(slow), s.open(fast)
	s.run(flooded, "yes 'a line of a flood' | head -c 1000000; mkdir ended")
	slow.until(func() bool { return slow.output.Len() >= window })
	s.run(other, "yes 'a line that is read' | head -c 4000000; echo all-'read'")
	fast.untilShown("all-read")
	if _, err := os.Stat(s.place.Dir + "/ended"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the program did not wait: %v", err)
	}
	slow.mu.Lock()
	unacked := slow.output.Len()
	slow.quiet = false
	slow.mu.Unlock()
	if unacked > window+readSize {
		t.Errorf("the screen got %d bytes that it had not acknowledged", unacked)
	}
	flooded.Acknowledge(slow, unacked)
	s.run(flooded, "\x03")
	s.run(flooded, "echo interrup'ted'")
	slow.untilShown("interrupted")
	s.EndSession("s1")
	if err := slow.untilLeft(); !errors.Is(err, ErrSession) {
		t.Errorf("left: %v", err)
	}
}

func TestAShellGoesOnWithoutAScreenAndShowsItsNewestOutput(t *testing.T) {
	t.Parallel()
	s, first, second, third := newSite(t), newPage(t), newPage(t), newPage(t)
	shell := s.open(first)
	s.run(shell, "echo before'-'that")
	first.untilShown("before-that")
	shell.Hide(first)
	s.run(shell, "i=0; while [ $i -lt 20000 ]; do echo $i of many; i=$((i+1)); done; mkfifo wait; cat wait")
	done, err := os.OpenFile(s.place.Dir+"/wait", os.O_WRONLY, 0)
	for errors.Is(err, os.ErrNotExist) {
		done, err = os.OpenFile(s.place.Dir+"/wait", os.O_WRONLY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = done.Close()
	s.run(shell, "echo after'-'that")
	second.shell, third.shell = shell, shell
	if err := shell.Show(second); err != nil {
		t.Fatal(err)
	}
	second.untilShown("after-that")
	if text := second.output.String(); !strings.Contains(text, "19999 of many") || strings.Contains(text, "before-that") {
		t.Errorf("%d bytes are shown again", len(text))
	}
	if err := shell.Show(third); err != nil {
		t.Fatal(err)
	}
	if err := second.untilLeft(); !errors.Is(err, ErrReplaced) {
		t.Errorf("left: %v", err)
	}
}

func TestShellsAreLimitedAndEnd(t *testing.T) {
	t.Parallel()
	s, p, q := newSite(t), newPage(t), newPage(t)
	one, two := s.open(p), s.open(q)
	if _, err := s.Open(s.place, usual); protocol.CodeOf(err) != protocol.CodeTooManyRequests {
		t.Errorf("a third one: %v", err)
	}
	for _, size := range []Size{{}, {Columns: 80}, {Columns: MaxSide + 1, Rows: 1}} {
		if _, err := s.Open(s.place, size); protocol.CodeOf(err) != protocol.CodeInvalid {
			t.Errorf("%v: %v", size, err)
		}
	}
	if _, err := s.Find("s2", one.ID); protocol.CodeOf(err) != protocol.CodeGone {
		t.Errorf("a shell of another session: %v", err)
	}
	two.Hide(q)
	s.clock = s.clock.Add(away)
	s.EndIdle()
	s.clock = s.clock.Add(defaultIdle - away - time.Second)
	s.EndIdle()
	if _, err := s.Find("s1", one.ID); err != nil {
		t.Errorf("a shell on a screen: %v", err)
	}
	s.clock = s.clock.Add(time.Second)
	s.EndIdle()
	if err := p.untilLeft(); !errors.Is(err, ErrIdle) {
		t.Errorf("left: %v", err)
	}
	place := s.place
	place.Dir = place.Dir + "/gone"
	if _, err := s.Open(place, usual); protocol.CodeOf(err) != protocol.CodeConflict {
		t.Errorf("a workspace that is gone: %v", err)
	}
}

func TestATerminalMovesBetweenTheScreensOfItsPage(t *testing.T) {
	t.Parallel()
	s, first, second, other := newSite(t), newPage(t), newPage(t), newPage(t)
	shell := s.open(first)
	second.shell, other.shell = shell, shell
	s.run(shell, "echo on-the-'first'")
	first.untilShown("on-the-first")
	if err := shell.Move(first, second); err != nil {
		t.Fatal(err)
	}
	second.untilShown("on-the-first")
	s.run(shell, "echo on-the-'second'")
	second.untilShown("on-the-second")
	if text := first.output.String(); strings.Contains(text, "on-the-second") || first.cause != nil {
		t.Errorf("the first screen: %v %q", first.cause, text)
	}
	if err := shell.Show(other); err != nil {
		t.Fatal(err)
	}
	if err := second.untilLeft(); !errors.Is(err, ErrReplaced) {
		t.Errorf("left: %v", err)
	}
	if err := shell.Move(second, first); !errors.Is(err, ErrReplaced) {
		t.Errorf("back from a screen that was replaced: %v", err)
	}
}

// The host keeps a bounded part of what programs do not read, and the user can still end them.
func TestInputThatNoProgramReadsIsBounded(t *testing.T) {
	t.Parallel()
	s, p := newSite(t), newPage(t)
	shell := s.open(p)
	s.run(shell, "stty raw -echo; echo rea'dy'; sleep 1000")
	p.untilShown("ready")
	typed, err := 0, error(nil)
	for err == nil && typed < 8*maxUnread {
		err = shell.Type(make([]byte, maxFrame))
		typed += maxFrame
	}
	if !errors.Is(err, ErrUnread) {
		t.Errorf("after %d bytes: %v", typed, err)
	}
	s.EndSession("s1")
	if err := p.untilLeft(); !errors.Is(err, ErrSession) {
		t.Errorf("left: %v", err)
	}
}

func TestWhatIsShownAgainBeginsWithALine(t *testing.T) {
	t.Parallel()
	var s Shell
	for range 3 {
		s.keep([]byte(strings.Repeat("größe 世界\n", kept/16)))
		if len(s.last) > kept {
			t.Fatalf("%d bytes are kept", len(s.last))
		}
	}
	if text := string(s.last); !strings.HasPrefix(text, "größe 世界\n") {
		t.Errorf("it begins with %q", text[:20])
	}
	s.keep(make([]byte, 2*kept))
	if len(s.last) != kept {
		t.Errorf("%d bytes of one line are kept", len(s.last))
	}
}

// A shell writes its prompt, or asks the terminal something, before the first page is connected.
func TestWhatNoScreenHasShownIsNotRepeated(t *testing.T) {
	t.Parallel()
	s := newShell("s1", nil, time.Now)
	s.keep([]byte("$ "))
	for _, isRepeated := range []bool{false, true, true} {
		p := newPage(t)
		p.quiet = true
		if err := s.Show(p); err != nil {
			t.Fatal(err)
		}
		if got := p.output.String(); got != "$ " || p.isRepeated != isRepeated {
			t.Errorf("shown: %q, repeated: %t", got, p.isRepeated)
		}
	}
}

func TestAShellThatCannotStartReportsWhy(t *testing.T) {
	t.Parallel()
	s, p := newSite(t), newPage(t)
	s.options.Command = []string{"/no/such/shell"}
	shell, err := s.Open(s.place, usual)
	if err != nil {
		t.Fatal(err)
	}
	p.shell = shell
	switch err := shell.Show(p); {
	case err == nil:
		p.untilShown("no such file or directory")
	case !errors.Is(err, ErrExited) || !strings.Contains(p.output.String(), "no such file or directory"):
		t.Errorf("%v, shown: %q", err, p.output.String())
	}
}
