//go:build release

package release

import (
	"bytes"
	"context"
	"crypto/elliptic"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/internal/testenv"
)

var only = flag.String("targets", "linux/amd64,windows/arm64", "systems that the two builds are for")

// TestARelease builds HEAD twice, and installs what it has built.
func TestARelease(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Fatal("run it as root: packages are installed into a root of their own")
	}
	key, _ := newKey(t, elliptic.P256())
	head := command(t, "../..", "git", "rev-parse", "HEAD")
	first := Config{
		Source: clone(t, head, t.TempDir()), Output: filepath.Join(t.TempDir(), "dist"), Version: "v9.8.7",
		Time: commitTimeOf(t, head), Key: key, Targets: selected(t),
	}
	testenv.Must(t, Build(t.Context(), first))
	t.Run("the deb package", func(t *testing.T) { serves(t, &first) })
	t.Run("the rpm package", func(t *testing.T) { hasTheSameFiles(t, first) })
	t.Run("npx", func(t *testing.T) { runsFromNPM(t, first) })
	t.Run("the image", func(t *testing.T) { runsInTheImage(t, first) })
	t.Run("shells and man", func(t *testing.T) { loads(t, first) })
	t.Run("another directory, time zone and umask give the same bytes", func(t *testing.T) { buildsAgain(t, first, head) })
}

func selected(t *testing.T) (targets []Target) {
	t.Helper()
	for name := range strings.SplitSeq(*only, ",") {
		system, arch, _ := strings.Cut(name, "/")
		targets = append(targets, Target{system, arch})
	}
	if !slices.Contains(targets, native()) || native().OS != "linux" {
		t.Fatalf("%s has to be among the systems", native())
	}
	return targets
}

func command(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := output(t.Context(), dir, nil, args...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

func output(ctx context.Context, dir string, variables []string, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.Env = append(os.Environ(), variables...)
	err := cmd.Run()
	return out.String(), err
}

func commitTimeOf(t *testing.T, head string) time.Time {
	t.Helper()
	seconds, err := strconv.ParseInt(command(t, "../..", "git", "log", "-1", "--format=%ct", head), 10, 64)
	testenv.Must(t, err)
	return time.Unix(seconds, 0)
}

// clone checks a commit out with the npm packages of this checkout, and builds its console.
func clone(t *testing.T, head, dir string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	testenv.Must(t, err)
	dir = filepath.Join(dir, "bellhop")
	command(t, "", "git", "clone", "--quiet", "--shared", "--no-checkout", root, dir)
	command(t, dir, "git", "checkout", "--quiet", head)
	for _, folder := range []string{"web", "web/client"} {
		// Hard links where that is possible: there are many files.
		command(t, dir, "sh", "-c", `cp -al "$1" "$2" 2>/dev/null || cp -a "$1" "$2"`, "sh",
			filepath.Join(root, folder, "node_modules"), filepath.Join(dir, folder))
	}
	command(t, filepath.Join(dir, "web"), "npm", "run", "build", "--silent")
	return dir
}

func buildsAgain(t *testing.T, first Config, head string) {
	t.Setenv("GOMODCACHE", command(t, "", "go", "env", "GOMODCACHE"))
	t.Setenv("GOCACHE", command(t, "", "go", "env", "GOCACHE"))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("TZ", "Pacific/Kiritimati") // there it is another day than in UTC for 14 hours
	defer syscall.Umask(syscall.Umask(0o077))
	second := first
	second.Source = clone(t, head, filepath.Join(t.TempDir(), "a directory with a longer name"))
	second.Output = filepath.Join(t.TempDir(), "other")
	testenv.Must(t, Build(t.Context(), second))
	names := func(dir string) (all []string) {
		entries, err := os.ReadDir(dir)
		testenv.Must(t, err)
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all
	}
	// Sums, signature, formula, image, two packages of npm; of each system an archive, its bill and a package of npm.
	least := 6 + 3*len(first.Targets)
	if a, b := names(first.Output), names(second.Output); !slices.Equal(a, b) || len(a) < least {
		t.Fatalf("%q\n%q", a, b)
	}
	for _, name := range names(first.Output) {
		a, err := hashFile(filepath.Join(first.Output, name))
		testenv.Must(t, err)
		b, err := hashFile(filepath.Join(second.Output, name))
		testenv.Must(t, err)
		if a != b {
			t.Errorf("%s differs", name)
		}
	}
	command(t, second.Output, "sha256sum", "--check", "--strict", "--quiet", sumsName)
}

// file returns the path of the only file of a release with this ending.
func file(t *testing.T, c Config, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(c.Output, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found[0]
}

func nativeFile(t *testing.T, c Config, ending string) string {
	t.Helper()
	return file(t, c, "*_"+native().String()+ending)
}

func hasTheSameFiles(t *testing.T, c Config) {
	const list = `dpkg-deb --fsys-tarfile "$1" | tar -t | grep -v '/$' | sed 's/^\.//'`
	deb := strings.Fields(command(t, "", "sh", "-c", list, "sh", nativeFile(t, c, ".deb")))
	query := func(args ...string) string {
		args = append([]string{"rpm", "--query", "--nosignature"}, args...)
		return command(t, "", append(args, "--package", nativeFile(t, c, ".rpm"))...)
	}
	rpm := strings.Fields(query("--list"))
	for i, name := range deb {
		deb[i] = strings.Replace(name, "zsh/vendor-completions", "zsh/site-functions", 1)
	}
	slices.Sort(deb)
	slices.Sort(rpm)
	if !slices.Equal(deb, rpm) || len(deb) < 14 {
		t.Errorf("%q\nand in rpm\n%q", deb, rpm)
	}
	requires := query("--requires")
	made := query("--queryformat", "%{VERSION} %{BUILDHOST}")
	if made != "9.8.7 localhost" || !strings.Contains(requires, "git") {
		t.Errorf("version and machine %s, requires %s", made, requires)
	}
}

func expectVersion(t *testing.T, line string) {
	t.Helper()
	if !strings.HasPrefix(line, "bellhop v9.8.7 ") {
		t.Errorf("%s", line)
	}
}

// runsFromNPM installs the archives without a registry, and uses "npx bellhop dev".
func runsFromNPM(t *testing.T, c Config) {
	dir := t.TempDir()
	refused := httptest.NewServer(http.NotFoundHandler())
	refused.Close()
	t.Setenv("npm_config_registry", refused.URL)
	t.Setenv("npm_config_cache", t.TempDir())
	t.Setenv("npm_config_fetch_retries", "0")
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private":true}`), 0o600))
	command(t, dir, "npm", "install", "--no-audit", "--no-fund", file(t, c, "bellhop-9.8.7.tgz"),
		file(t, c, "bellhop-cli-"+npmPlatform(native())+"-9.8.7.tgz"), file(t, c, "bellhop-client-9.8.7.tgz"))
	expectVersion(t, command(t, dir, "npx", "--offline", "bellhop", "version"))
	if _, err := output(t.Context(), dir, nil, "npx", "--offline", "bellhop", "ready", refused.URL); err == nil {
		t.Error("the exit code of the program is lost")
	}
	for _, program := range [][]string{{"npx", "--offline", "bellhop"}, {"node_modules/.bin/bellhop"}} {
		p := start(t, dir, append(program, "dev", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0",
			"--host-listen", "127.0.0.1:0")...)
		command(t, dir, "npx", "--offline", "bellhop", "ready", p.await(t, `broker +(http://\S+)`))
		if program[0] == "npx" {
			p.interrupt(t) // npx passes no signal on; a terminal signals them all
		} else {
			p.end(t)
		}
	}
	command(t, dir, "node", "--input-type=module", "-e",
		`import * as client from "@bellhop/client"; if (Object.keys(client).length < 3) process.exit(1)`)
}

// runsInTheImage unpacks the image of this machine and runs the program in a root with nothing else.
func runsInTheImage(t *testing.T, c Config) {
	layoutDir, root := t.TempDir(), t.TempDir()
	command(t, "", "tar", "-C", layoutDir, "-xf", file(t, c, "bellhop-broker_*.oci.tar"))
	command(t, "", "umoci", "raw", "unpack", "--image", layoutDir+":9.8.7", root)
	testenv.Must(t, os.Mkdir(filepath.Join(root, "proc"), 0o755)) //nolint:gosec // every container has it
	bellhop := func(args ...string) []string {
		const contain = `mount --rbind /proc "$1/proc" && exec chroot --userspec="$2" "$1" /usr/local/bin/bellhop "${@:3}"`
		return append([]string{
			"unshare", "--mount", "--propagation", "private", "bash", "-c", contain, "bash",
			root, imageUser,
		}, args...)
	}
	expectVersion(t, command(t, "", bellhop("version")...))
	keyset := command(t, "", bellhop("keys", "generate")...)
	keyFile := filepath.Join(root, "data", "keyset")
	testenv.Must(t, os.WriteFile(keyFile, []byte(keyset), 0o600))
	user, err := strconv.Atoi(strings.Split(imageUser, ":")[0])
	testenv.Must(t, err)
	testenv.Must(t, os.Chown(keyFile, user, user))
	listen := address(t)
	p := startWith(t, "", []string{
		"BELLHOP_DATABASE_URL=sqlite:/data/x.db", "BELLHOP_KEYSET_FILE=/data/keyset", "BELLHOP_LISTEN=" + listen,
	}, bellhop("serve")...)
	p.awaitReady(t, "http://"+listen)
	command(t, "", bellhop("ready", "http://"+listen)...)
	p.end(t)
}

// loads has each shell read its completion, and man and mandoc the page.
func loads(t *testing.T, c Config) {
	dir := t.TempDir()
	command(t, "", "tar", "-C", dir, "-xzf", nativeFile(t, c, ".tar.gz"))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for _, shell := range []struct{ script, want string }{
		{`bash -c '. completions/bellhop.bash && complete -p bellhop'`, " -C 'bellhop' bellhop"},
		{
			`zsh -f -c 'autoload -U compinit && compinit -u -D && source completions/_bellhop && print $_comps[bellhop]'`,
			"_bash_complete",
		},
		{`fish --no-config -c 'source completions/bellhop.fish; complete --do-complete "bellhop hosts up"'`, "update"},
	} {
		if out := command(t, dir, "sh", "-c", shell.script); !strings.Contains(out, shell.want) {
			t.Errorf("%s: %s", shell.script, out)
		}
	}
	for _, check := range []string{
		`LC_ALL=C.UTF-8 man --warnings=w -l bellhop.1 2>&1 >/dev/null`,
		`mandoc -T lint -W warning bellhop.1 | grep -v 'missing date'`,
	} {
		if out, err := output(t.Context(), dir, []string{"MANWIDTH=100"}, "sh", "-c", check); out != "" {
			t.Errorf("%s: %v\n%s", check, err, out)
		}
	}
}
