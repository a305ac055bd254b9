package verify_test

import (
	"encoding/json"
	"os"
	"testing"

	"bellhop/protocol"
)

func TestEachGrammarAcceptsAndRejects(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, "verify-worker")
	seen := map[string]int{}
	for _, c := range []struct {
		language, good, bad string
		line, column        int
	}{
		{
			"c", "#include <stdio.h>\n\nint main(void) { printf(\"a\\n\"); return 0; }\n",
			"int main(void) {\n    return 0\n}\n", 2, 13,
		},
		{"c", "struct a { int b; };\n", "int f(void) {\n  if (1) {\n}\n", 3, 2},
		{
			"cpp", "template <class T> T f(T a) { auto g = [&](auto b) { return a + b; }; return g(1); }\n",
			"class A {\n  int f( { return 1; }\n};\n", 2, 9,
		},
		{
			"csharp", "using System;\nclass A { static void Main() => Console.WriteLine($\"{1}\"); }\n",
			"class A {\n  void F() {\n    int x = 1\n  }\n}\n", 3, 14,
		},
		{"dart", "void main() { var x = 1; print('$x'); }\n", "void main() {\n  var x = ;\n}\n", 2, 11},
		{
			"elixir", "defmodule A do\n  def f(x), do: x + 1\nend\n", "defmodule A do\n  def f(x) do\n    x +\n  end\nend\n",
			5, 4,
		},
		{
			"java", "public class A { int f() { return 1; } }\n",
			"public class A {\n    int f() {\n        return 1\n    }\n}\n", 3, 17,
		},
		{"java", "record A(int b) {}\n", "class A {\n  void f( { }\n}\n", 2, 10},
		{"kotlin", "fun main() { val x = listOf(1).map { it + 1 }; println(x) }\n", "fun main( {\n  val x = 1\n}\n", 1, 11},
		{"lua", "local x = 1\nfunction f() return x end\n", "local x = 1\nfunction f( return x end\n", 2, 20},
		{"php", "<?php\nfunction f(int $a): string { return \"a{$a}\"; }\n", "<?php\n$a = 1\n$b = 2;\n", 2, 7},
		{"php", "function f() { return 1; }\n", "f(1;\n", 1, 4},
		{"python", "def f(x):\n    return [y for y in x if y > 1]\n", "def f(:\n    pass\n", 1, 7},
		{"python", "async def f():\n    async with a as b:\n        yield f'{b!r}'\n", "x = 1\ny = = 2\n", 2, 5},
		{"python", "x = [\n  1,\n  2\n]\n", "class A:\n    def f(self)\n        return 1\n", 2, 16},
		{"python", "match x:\n    case 1: pass\n", "def f():\n    x = (1,\n\ndef g():\n    pass\n", 2, 12},
		{"python", "class A: pass\n", "def f():\n    # only a comment\n", 1, 9},
		{"python", "print('a')\n", "x = 1\nprint \"a\"\n", 2, 1},
		{"python", "if a:\n    b\nelse:\n    c; d\ne\n", "def f():\n        x = 1\n    y = 2\n", 3, 5},
		{
			"python", "class A:\n    \"\"\"doc\"\"\"\n\n    @property\n    def f(self): return 1\n", "if x:\n    y\n     z\n",
			3, 6,
		},
		{"r", "f <- function(x) { x + 1 }\n", "f <- function(x { x + 1 }\n", 1, 17},
		{"ruby", "def f(x)\n  x.map { |a| a + 1 }\nend\n", "def f(x)\n  1\n", 2, 4},
		{
			"rust", "fn main() { let x: Vec<_> = (0..3).collect(); println!(\"{x:?}\"); }\n",
			"fn main() {\n    let x = ;\n}\n", 2, 13,
		},
		{"rust", "impl<'a> A<'a> { async fn f(&'a self) {} }\n", "fn main() {\n    let x = 1\n    let y = 2;\n}\n", 2, 14},
		{"scala", "object A { def f(x: Int): Int = x + 1 }\n", "object A {\n  def f(x: Int: Int = x\n}\n", 2, 17},
	} {
		seen[c.language]++
		if got := v.Verify(t.Context(), c.language,
			c.good); got.Verdict != protocol.Verified || got.Claim != protocol.ClaimParses || len(got.Diagnostics) > 0 {
			t.Errorf("%s %q: %+v", c.language, c.good, got)
		}
		got := v.Verify(t.Context(), c.language, c.bad)
		if got.Verdict != protocol.VerifyFailed || got.Claim != "" || got.VerifiedAt != nil || got.ToolVersion == "" {
			t.Errorf("%s %q: %+v", c.language, c.bad, got)
			continue
		}
		if d := got.Diagnostics[0]; d.Line != c.line || d.Column != c.column || d.Severity != "error" {
			t.Errorf("%s %q: %+v, want it at %d:%d", c.language, c.bad, d, c.line, c.column)
		}
	}
	for _, language := range grammars(t) {
		if seen[language] == 0 && language != "html" && language != "markdown" {
			t.Errorf("%s has no case", language)
		}
	}
}

func grammars(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile("treesitter/grammars.json")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Grammars []struct{ Language string }
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	languages := make([]string, len(list.Grammars))
	for i := range languages {
		languages[i] = list.Grammars[i].Language
	}
	return languages
}

// A language that gives every text a meaning gets warnings, and no code of it is verified.
func TestTolerantLanguagesGetWarningsOnly(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, "verify-worker")
	for _, c := range []struct {
		language, code string
		line, column   int // of the warning, 0 = none
	}{
		{"html", "<!doctype html>\n<p>a</p>\n", 0, 0},
		{"html", "<div>\n<p>a</div>\n</b>\n", 3, 3},
		{"css", "a { color: red }\n", 0, 0},
		{"css", "a { color: red", 1, 15},
		{"css", "a {\n  color red;\n}\n", 2, 8},
		{"markdown", "# A\n\n```go\nx\n```\n", 0, 0},
		{"markdown", "# A\n\n```go\nx\n", 3, 1},
	} {
		got := v.Verify(t.Context(), c.language, c.code)
		if got.Verdict != protocol.VerifyUnsupported || got.Claim != "" || got.VerifiedAt != nil || got.Reason == "" ||
			got.Tool == "" {
			t.Errorf("%s %q: %+v", c.language, c.code, got)
		}
		var at [2]int
		if len(got.Diagnostics) > 0 {
			at = [2]int{got.Diagnostics[0].Line, got.Diagnostics[0].Column}
		}
		if at != [2]int{c.line, c.column} || errorsIn(got) > 0 {
			t.Errorf("%s %q: %+v", c.language, c.code, got.Diagnostics)
		}
	}
}
