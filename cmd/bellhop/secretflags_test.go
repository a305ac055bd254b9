package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"bellhop/crypto/seal"
	"bellhop/internal/testenv"
)

// Every program of the machine can read the arguments of all others.
func TestNoSecretIsTakenFromTheArguments(t *testing.T) {
	const secret = "geheim"
	postgres := "postgres://bellhop:" + secret + "@127.0.0.1:1/bellhop"
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a password": {[]string{"users", "add", "--email", "a@b.c", "--password", secret}, "--password-file"},
		"with =":     {[]string{"users", "add", "--email", "a@b.c", "--password=" + secret}, "--password-file"},
		"a password as a path": {
			[]string{"users", "add", "--email", "a@b.c", "--password-file", secret}, "a file with the secret",
		},
		"a token":       {[]string{"announce", "--token", secret}, "--token-file"},
		"a keyset":      {[]string{"serve", "--keyset", secret}, "--keyset-file"},
		"a model's key": {[]string{"agent", "--stdio", "--openai-api-key", secret}, "--openai-api-key-file"},
		"a database's":  {[]string{"migrate", "status", "--database-url", postgres}, "BELLHOP_DATABASE_URL_FILE"},
		"in its query": {
			[]string{"migrate", "status", "--database-url", "postgres://h/d?password=" + secret}, "BELLHOP_DATABASE_URL_FILE",
		},
		"as a list of words": {
			[]string{"migrate", "status", "--database-url", "host=h password=" + secret}, "BELLHOP_DATABASE_URL_FILE",
		},
		"in no URL": {
			[]string{"migrate", "status", "--database-url", "postgres://a:" + secret + "@[::1"}, "BELLHOP_DATABASE_URL_FILE",
		},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runCommand(t, c.args...)
			if code != 2 || !strings.Contains(stderr, c.want) {
				t.Errorf("exit %d, stderr lacks %q:\n%s", code, c.want, stderr)
			}
			if strings.Contains(stdout+stderr, secret) {
				t.Errorf("the output shows the secret:\n%s%s", stdout, stderr)
			}
		})
	}
}

func TestADatabaseURLWithoutAPasswordMayBeAnArgument(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	if code, _, stderr := runCommand(t, "migrate", "up", "--database-url", "sqlite:"+path); code != 0 {
		t.Errorf("SQLite: exit %d: %s", code, stderr)
	}
	const postgres = "postgres://bellhop@127.0.0.1:1/bellhop"
	if code, _, stderr := runCommand(t, "migrate", "status", "--database-url", postgres); code != 1 {
		t.Errorf("PostgreSQL: exit %d: %s", code, stderr)
	}
}

// Every field of the command line that holds a secret is marked as one, and is a file's path among the arguments.
func TestEveryFlagOfASecretTakesAFile(t *testing.T) {
	parser, err := kong.New(&commandLine{}, helpVars())
	if err != nil {
		t.Fatal(err)
	}
	flags := 0
	if err := kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		flag, ok := node.(*kong.Flag)
		if !ok {
			return next(nil)
		}
		_, secret := flag.Target.Interface().(seal.Secret)
		if secret {
			flags++
		}
		file := strings.HasSuffix(flag.Name, "-file") || flag.Name == "database-url"
		if secret != flag.Tag.Has("secret") || secret && (!file || len(flag.Envs) != 1) {
			t.Errorf("--%s: a secret: %v, marked: %v, variables: %v", flag.Name, secret, flag.Tag.Has("secret"), flag.Envs)
		}
		return next(nil)
	}); err != nil {
		t.Fatal(err)
	}
	if flags < 20 {
		t.Errorf("%d flags of secrets were seen", flags)
	}
}

func TestASecretIsReadFromAFileOrALineOfStdin(t *testing.T) {
	empty, large := writeSecret(t, "\n"), writeSecret(t, strings.Repeat("x", maxSecretFile+1))
	for name, c := range map[string]struct {
		flag, stdin string
		code        int
		rest, want  string
	}{
		"a file":              {flag: writeSecret(t, "correct horse\r\n"), stdin: "unread", rest: "unread"},
		"a line":              {flag: "-", stdin: "correct horse\r\nrest", rest: "rest"},
		"a line without end":  {flag: "-", stdin: "correct horse"},
		"an empty file":       {flag: empty, code: 2, want: "--password-file: it is empty"},
		"an empty line":       {flag: "-", stdin: "\n", code: 2, want: "--password-file: it is empty"},
		"no line":             {flag: "-", code: 2, want: "--password-file: it is empty"},
		"a large file":        {flag: large, code: 2, want: "larger than 1 MiB"},
		"an endless line":     {flag: "-", stdin: strings.Repeat("x", maxSecretFile+2), code: 2, want: "larger than 1 MiB"},
		"a directory":         {flag: t.TempDir(), code: 2, want: "is a directory"},
		"a password too weak": {flag: "-", stdin: "short\n", code: 1, want: "8 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("BELLHOP_DATABASE_URL", "sqlite:"+filepath.Join(t.TempDir(), "x.db"))
			_, keyset, _ := runCommand(t, "keys", "generate")
			t.Setenv("BELLHOP_KEYSET", strings.TrimSpace(keyset))
			stdin := strings.NewReader(c.stdin)
			var stdout, stderr bytes.Buffer
			code := run(context.Background(), make(chan os.Signal),
				[]string{"users", "add", "--email", "a@example.com", "--password-file", c.flag}, stdin, &stdout, &stderr)
			if code != c.code || !strings.Contains(stderr.String(), c.want) {
				t.Fatalf("exit %d: %s", code, &stderr)
			}
			if code == 0 && stdin.Len() != len(c.rest) {
				t.Errorf("%d bytes of stdin are left, want %q", stdin.Len(), c.rest)
			}
		})
	}
}

// The last flag counts, and no secret is taken for a path.
func TestARepeatedFlagOfASecretReadsTheLastFile(t *testing.T) {
	t.Setenv("BELLHOP_KEYSET", "")
	_, keyset, _ := runCommand(t, "keys", "generate")
	code, _, stderr := runCommand(t, "keys", "add", "--keyset-file", "none", "--keyset-file", writeSecret(t, keyset))
	if code != 0 {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// The keyset opens every secret in the database, so no other user of the machine may read its file.
func TestAKeysetThatOthersCanOpenIsRefused(t *testing.T) {
	_, keyset, _ := runCommand(t, "keys", "generate")
	top := t.TempDir()
	for folder := top; folder != os.TempDir(); folder = filepath.Dir(folder) {
		testenv.Must(t, os.Chmod(folder, 0o755)) //nolint:gosec // that others enter
	}
	closed := filepath.Join(top, "closed")
	testenv.Must(t, os.Mkdir(closed, 0o700))
	file := func(folder string, mode os.FileMode) string {
		path := filepath.Join(folder, fmt.Sprintf("keyset-%o", mode))
		testenv.Must(t, os.WriteFile(path, []byte(keyset), 0o600))
		testenv.Must(t, os.Chmod(path, mode))
		return path
	}
	database := "sqlite:" + filepath.Join(closed, "x.db")
	for name, c := range map[string]struct {
		path string
		code int // of "keys add"
		want string
		says string // of the doctor
	}{
		"private":              {path: file(top, 0o600), says: "ok      keyset: It opens the database.\n"},
		"for all":              {path: file(top, 0o644), code: 2, want: "others can open the file, its mode is 0644. Run chmod 600"},
		"for all, in a closed": {path: file(closed, 0o644), says: "warning keyset: It opens the database. The mode of its file is 0644: only its folder " + closed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("BELLHOP_KEYSET", "")
			code, _, stderr := runCommand(t, "keys", "add", "--keyset-file", c.path)
			if code != c.code || !strings.Contains(stderr, c.want) {
				t.Errorf("--keyset-file: exit %d: %s", code, stderr)
			}
			t.Setenv("BELLHOP_KEYSET_FILE", c.path)
			code, _, stderr = runCommand(t, "keys", "add")
			if code != c.code || !strings.Contains(stderr, c.want) {
				t.Errorf("BELLHOP_KEYSET_FILE: exit %d: %s", code, stderr)
			}
			if c.code != 0 {
				return
			}
			t.Setenv("BELLHOP_DATABASE_URL", database)
			if code, _, stderr := runCommand(t, "users", "list"); code != 0 {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			if _, stdout, _ := runCommand(t, "doctor"); !strings.Contains(stdout, c.says) {
				t.Errorf("the doctor says:\n%s", stdout)
			}
		})
	}
}
