package verify

import (
	"slices"
	"strings"
	"testing"
)

// A mistake spoils the declaration that it is in: the others are found as without it.
func TestAMistakeSpoilsOneDeclaration(t *testing.T) {
	t.Parallel()
	const code = "#include <a.h>\n\nstatic int a(void)\n{\n  if (b) { c(\"}\"); }\n  return '{';\n}\n\n/* int x; {\n */\nstruct d {\n  int e;\n} f, *g;\n\n" +
		"namespace h {\n\nint i[] = { 1, 2 };\nint j() { return 1'000; }\n\n}  // namespace h\n\nint k(int l)\n{\nlabel:\n  return R\"(})\" + l;\n}\n"
	names := func(code string) (names []string) {
		s := divide(code, true)
		for _, u := range s.declarations {
			first, _, _ := strings.Cut(code[u.start:u.end], "\n")
			names = append(names, first)
		}
		return names
	}
	all := []string{"static int a(void)", "struct d {", "namespace h {", "int i[] = { 1, 2 };", "int j() { return 1'000; }", "}", "int k(int l)"}
	for _, c := range []struct {
		name, old, replacement string
		want                   []string
	}{
		{"nothing", "", "", all},
		{"a block without its end", "c(\"}\"); }", "c(\"}\");", all},
		{"a function without its end", "'{';\n}", "'{';", all},
		{"a bracket too many", "return '{'", "return ('{'", all},
		{"an end too many", "return '{';", "return '{'; }", slices.Insert(slices.Clone(all), 1, "}")},
		{"a function without its begin", "int l)\n{", "int l)", slices.Concat(all[:6], []string{"int k(int l)", "}"})},
		{"a string without its end", "c(\"}\"", "c(\"}", all},
		{"a branch", "  return '{';", "#if B\n  if (b) {\n#else\n  {\n#endif\n }\n  return '{';", all},
		{"a comment that a line of the preprocessor begins", "#include <a.h>\n", "#define A 1 /* {\n int z; {\n*/\n", all},
		{"code at the first column", "static int a(void)\n{\n", "static int a(void)\n{\n\nint z;\n\nz = 1;\n", all},
	} {
		if c.old != "" && !strings.Contains(code, c.old) {
			t.Fatalf("%s: the code lacks %q", c.name, c.old)
		}
		if got := names(strings.Replace(code, c.old, c.replacement, 1)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// Any text is divided into parts of it, in order, and no offset changes.
func TestAnyTextIsDivided(t *testing.T) {
	t.Parallel()
	const signs = "ab {}(){}[];:&*=\"'#/\\\n \nR\"(éif#if 0\n#else\n#endif\nnamespace\""
	for state, round := uint32(1), 0; round < 500; round++ {
		var code strings.Builder
		for range 1 + round {
			state = state*1664525 + 1013904223
			at := state >> 8 % uint32(len(signs))
			code.WriteString(signs[at:min(len(signs), int(at)+1+int(state>>28))])
		}
		text := code.String()
		s := divide(text, true)
		before := 0
		for _, u := range s.declarations {
			if u.start < before || u.end <= u.start || u.end > len(text) {
				t.Fatalf("%q: %+v", text, s.declarations)
			}
			before = u.end
		}
		for _, same := range []string{s.text, s.reduced} {
			if len(same) != len(text) || strings.Count(same, "\n") != strings.Count(text, "\n") {
				t.Fatalf("%q became %q", text, same)
			}
		}
	}
}
