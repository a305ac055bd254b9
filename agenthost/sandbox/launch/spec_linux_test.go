package launch

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestAnInitGetsItsSpecThroughAPipe(t *testing.T) {
	t.Parallel()
	spec := Spec{Write: []string{"/w x"}, Namespaces: true, Bridges: []Bridge{{Port: 1, To: "/s"}}}
	for name, program := range map[string][]string{
		"alone": {"/bin/true"}, "with arguments": {"/bin/sh", "-c", "echo 'a'\n", "\xff"},
		"with empty arguments": {"/bin/sh", "", ""},
		"beyond a pipe's size": {"/bin/sh", strings.Repeat("x", 1<<20)},
	} {
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() { failed <- spec.writeTo(writer, program) }()
		gotSpec, gotProgram, err := readSpec(reader)
		if err != nil || !reflect.DeepEqual(gotSpec, spec) || !reflect.DeepEqual(gotProgram, program) {
			t.Errorf("%s: %+v, %.100q, %v", name, gotSpec, gotProgram, err)
		}
		if err := <-failed; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestABrokenSpecIsRefused(t *testing.T) {
	t.Parallel()
	for _, content := range []string{
		"", "{}", "{}\x00", "{}\x00/bin/true", "{\x00/bin/true\x00", `{"all":true}` + "\x00/bin/true\x00",
	} {
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := writer.WriteString(content); err != nil {
			t.Fatal(err)
		}
		_ = writer.Close()
		if spec, program, err := readSpec(reader); err == nil {
			t.Errorf("%q: %+v, %q", content, spec, program)
		}
	}
}
