package servers_test

import (
	"os"
	"path/filepath"
	"testing"

	"bellhop/internal/servers"
)

func TestAPortIsTakenAgainAfterARestartOfTheProgram(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ports", "a.json")
	restart := func() servers.Info {
		t.Helper()
		k := newKit(t, servers.Options{Memory: file})
		s, err := k.Restart(t.Context(), spec("a", "good"))
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s.Info()
	}
	before, after := restart(), restart()
	if after.Port != before.Port || after.Pid == before.Pid {
		t.Errorf("before %+v, after %+v", before, after)
	}
	for name, content := range map[string]string{
		"no JSON": "{", "another form": `{"a":1}`, "no port": `[{"key":"a","port":-1}]`,
		"no such port": `[{"key":"a","port":99999}]`,
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if restart().Port == 0 {
			t.Errorf("a file with %s", name)
		}
	}
}
