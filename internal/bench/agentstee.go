package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// playTee runs a program and forwards its stdout, line by line. It records when a
// line contains a number of the counting, in a file with the name of the program's
// home. args are the file's folder, the pattern of a number, and the program's
// command line.
func playTee(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) < 3 {
		return errors.New("tee: folder, pattern, command")
	}
	return caught(func() {
		mark := must(regexp.Compile(args[1]))
		notes := must(os.OpenFile(stampsOf(args[0], filepath.Base(os.Getenv("HOME"))), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))
		defer notes.Close()
		check(os.Unsetenv(roleVariable))
		cmd := exec.CommandContext(ctx, args[2], args[3:]...) //nolint:gosec // the benchmark's own command
		cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
		out := must(cmd.StdoutPipe())
		check(cmd.Start())
		check(errors.Join(passOn(out, stdout, notes, mark), cmd.Wait()))
	})
}

func stampsOf(dir, session string) string { return filepath.Join(dir, session+".stamps") }

// passOn stamps a line before it forwards it, and writes its notes afterwards.
func passOn(in io.Reader, out, notes io.Writer, mark *regexp.Regexp) error {
	for lines := bufio.NewReaderSize(in, 64<<10); ; {
		line, err := lines.ReadBytes('\n')
		now := time.Now().UnixNano()
		if _, err := out.Write(line); err != nil {
			return err
		}
		for _, found := range mark.FindAllSubmatch(line, -1) {
			if _, err := fmt.Fprintf(notes, "%s %d\n", found[1], now); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// stamps records when numbers were first seen, in Unix nanoseconds.
type stamps map[int]int64

func (s stamps) see(number string, at int64) {
	n, err := strconv.Atoi(number)
	if err != nil {
		return
	}
	if earlier, known := s[n]; !known || at < earlier {
		s[n] = at
	}
}

// readStamps reads the notes of passOn.
func readStamps(notes []byte) stamps {
	s := stamps{}
	for line := range strings.Lines(string(notes)) {
		number, at, _ := strings.Cut(strings.TrimSpace(line), " ")
		if ns, err := strconv.ParseInt(at, 10, 64); err == nil {
			s.see(number, ns)
		}
	}
	return s
}

// lags adds, for each number, the time from its writing to its reading, and returns
// how many numbers were both written and read.
func (s stamps) lags(read stamps, into *samples) (matched int) {
	for n, at := range read {
		if written, ok := s[n]; ok {
			into.add(time.Duration(at - written))
			matched++
		}
	}
	return matched
}
