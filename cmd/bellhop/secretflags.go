package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"bellhop/crypto/seal"
)

// maxSecretFile bounds the file of a secret: a keyset of many keys has a few kilobytes.
const maxSecretFile = 1 << 20

// readFlags replaces the path in each --NAME-file flag with the secret in that file, of
// which "-" is the first line of stdin. A flag that takes the secret itself is refused when it
// has one: every program of the machine can read the arguments.
func (s *secretFiles) readFlags(parsed *kong.Context, stdin io.Reader) error {
	var done []*kong.Flag
	for _, at := range parsed.Path {
		flag := at.Flag
		if flag == nil || at.Resolved || !flag.Tag.Has("secret") || slices.Contains(done, flag) {
			continue
		}
		done = append(done, flag)
		argument, ok := flag.Target.Interface().(seal.Secret)
		if !ok {
			return fmt.Errorf("--%s is a secret of an unknown type", flag.Name)
		}
		if !strings.HasSuffix(flag.Name, "-file") {
			if urlWithoutPassword(argument.Reveal()) {
				continue
			}
			return fmt.Errorf("--%s has a password, and every program of this machine can read the arguments. "+
				"Set %[2]s or %[2]s_FILE instead", flag.Name, flag.Envs[0])
		}
		secret, err := readSecret(argument.Reveal(), stdin)
		if err == nil && argument.Reveal() != "-" {
			err = s.check(flag, argument.Reveal())
		}
		if err != nil {
			return fmt.Errorf("--%s: %w", flag.Name, err)
		}
		flag.Target.Set(reflect.ValueOf(seal.NewSecret(secret)))
	}
	return nil
}

func urlWithoutPassword(argument string) bool {
	if strings.HasPrefix(argument, "sqlite:") {
		return true
	}
	u, err := url.Parse(argument)
	if err != nil || u.Host == "" {
		return false
	}
	_, password := u.User.Password()
	query := u.Query()
	return !password && !query.Has("password") && !query.Has("sslpassword")
}

// readSecret returns the file's content without the final line end.
func readSecret(path string, stdin io.Reader) (string, error) {
	if path == "-" {
		return readLine(stdin)
	}
	file, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return "", errors.New("it takes a file with the secret, or - for standard input: " + reason(err))
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxSecretFile+1))
	if err != nil {
		return "", errors.New(reason(err))
	}
	if len(content) > maxSecretFile {
		return "", errors.New("the file is larger than 1 MiB")
	}
	return notEmpty(strings.TrimRight(string(content), "\r\n"))
}

// reason leaves the path out: it may be a secret that was given in place of a path.
func reason(err error) string {
	var wrong *os.PathError
	if errors.As(err, &wrong) {
		return wrong.Err.Error()
	}
	return err.Error()
}

// readLine reads no byte behind the line's end: what follows is the command's own input.
func readLine(r io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); len(line) <= maxSecretFile; {
		n, err := r.Read(b)
		if n == 1 && b[0] == '\n' || errors.Is(err, io.EOF) {
			return notEmpty(strings.TrimRight(string(line), "\r"))
		}
		if err != nil {
			return "", err
		}
		line = append(line, b[:n]...)
	}
	return "", errors.New("the line is larger than 1 MiB")
}

func notEmpty(secret string) (string, error) {
	if secret == "" {
		return "", errors.New("it is empty")
	}
	return secret, nil
}
