package configfile_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"bellhop/internal/configfile"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestExpand(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"URL": "http://127.0.0.1:1", "SECRET": `a"b`, "EMPTY": "", "TRICK": "${URL}$$"}
	for _, c := range []struct {
		rule, template, want string
		quote                func(string) string
	}{
		{"text without variables stays", `{"a": 1}`, `{"a": 1}`, nil},
		{"a variable is replaced wherever it stands", "${URL}/mcp ${URL}", "http://127.0.0.1:1/mcp http://127.0.0.1:1", nil},
		{"an empty value is a value", "[${EMPTY}]", "[]", nil},
		{"values are quoted", `"${SECRET}"`, `"a\"b"`, configfile.JSON},
		{"without a quote they stay", `${SECRET}`, `a"b`, nil},
		{"a value is not expanded again", "${TRICK}", "${URL}$$", nil},
		{"two dollars are one", "$$URL $${URL}", "$URL ${URL}", nil},
		{"a lone dollar stays", "cost: 5$, $x", "cost: 5$, $x", nil},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got, err := configfile.Expand(c.template, variables, c.quote)
			if err != nil || got != c.want {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestExpandRefuses(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"URL": "s3cret", "NAME": "s3cret"}
	for _, c := range []struct{ rule, template, message string }{
		{"an unknown variable, and names the known ones", "${ULR}", "unknown variable ${ULR}"},
		{"an empty name", "${}", "unknown variable ${}"},
		{"a brace that does not close", "${URL", "without its }"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			_, err := configfile.Expand(c.template, variables, nil)
			var e *protocol.Error
			if !errors.As(err, &e) || e.Code != protocol.CodeInvalid || !strings.Contains(e.Message, c.message) {
				t.Fatalf("%v", err)
			}
			if strings.Contains(e.Message+e.Hint, "s3cret") {
				t.Errorf("shows a value: %v %s", e, e.Hint)
			}
			if strings.Contains(e.Message, "unknown") && !strings.Contains(e.Hint, "NAME, URL") {
				t.Errorf("hint %q", e.Hint)
			}
		})
	}
}

func FuzzJSON(f *testing.F) {
	f.Add("plain")
	f.Add("\"\\\n\r\t\x00\x1f\x7f\u2028")
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, value string) {
		var got string
		if err := json.Unmarshal([]byte(`"`+configfile.JSON(value)+`"`), &got); err != nil {
			t.Fatal(err)
		}
		if want := strings.ToValidUTF8(value,
			""); strings.ReplaceAll(got, "\ufffd", "") != strings.ReplaceAll(want, "\ufffd", "") {
			t.Errorf("%q became %q", value, got)
		}
	})
}

func TestWrite(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	path := filepath.Join(home, ".agent", "config.json")
	write := func(template string, variables map[string]string) error {
		return configfile.Write(home, ".agent/config.json", template, variables, configfile.JSON)
	}
	for _, value := range []string{"one", "two"} {
		if err := write(`{"key":"${KEY}"}`, map[string]string{"KEY": value}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != `{"key":"`+value+`"}` {
			t.Fatalf("%s, %v", got, err)
		}
	}
	if err := write("${NO}", nil); err == nil || !strings.Contains(err.Error(), "config.json") {
		t.Errorf("an unknown variable: %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != `{"key":"two"}` {
		t.Errorf("a failed write changed the file: %s", got)
	}
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", name, info, err, want)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}
