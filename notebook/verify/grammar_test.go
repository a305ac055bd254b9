package verify_test

import (
	"encoding/json"
	"os"
	"strings"
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

// Where macros or a form that the grammar does not know may be the cause of an error, the code is not checked. An error
// elsewhere in the same file fails.
func TestAnErrorThatMayBeTheGrammarsIsNotTheCodes(t *testing.T) {
	t.Parallel()
	const (
		guard = "#ifndef QUEUE_H\n#define QUEUE_H\n#include <stddef.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
		end   = "\n#ifdef __cplusplus\n}\n#endif\n#endif\n"
		api   = "#define QUEUE_API __attribute__((visibility(\"default\")))\nQUEUE_API int queue_push(struct queue *q, int value);\n"
		size  = "\nstatic size_t size(const struct queue *q)\n{\n    if (!q) {\n        return 0;\n    }\n    return q->size;\n}\n"
		loop  = "\nint total(const int *v, int n) {\n  int sum = 0;\n#ifdef FORWARD\n  for (int i = 0; i < n; i++) {\n" +
			"#else\n  for (int i = n; i-- > 0;) {\n#endif\n    sum += v[i];\n  }\n  return sum;\n}\n"
		each  = "\nvoid drop(struct list *l) {\n  struct item *i;\n  list_for_each_entry(i, l, node) {\n    item_free(i);\n  }\n}\n"
		suite = "#include \"suite.h\"\nSUITE_BEGIN(queues)\nCASE(empty) { expect(size(q), ==, 0); }\nSUITE_END()\n"
		shape = "namespace ui {\n\nclass UI_EXPORT Shape final : public Base {\n public:\n  void draw() const UI_OVERRIDE;\n};\n\n" +
			"int area(int w, int h) {\n  return w * h;\n}\n\n}  // namespace ui\n"
		dart = "library;\n\nString name(Object o) {\n  switch (o) {\n    case Circle():\n      return 'circle';\n    case Square(:final side) when side > 1 || side < 0:\n" +
			"      return 'square';\n  }\n  return '';\n}\n\nint add(int a, int b) {\n  return a + b;\n}\n"
		notMuch = "The grammar of "
	)
	v := newVerifier(t, "verify-worker")
	without := func(code, part string) string {
		if !strings.Contains(code, part) {
			t.Fatalf("%q lacks %q", code, part)
		}
		return strings.Replace(code, part, "", 1)
	}
	for _, c := range []struct {
		name, language, code string
		want                 protocol.Verdict
		line                 int
	}{
		{"a header of C", "c", guard + api + end, protocol.VerifyUnsupported, 0},
		{"a header and a function", "c", guard + api + size + end, protocol.VerifyUnsupported, 0},
		{"a header without a semicolon", "c", guard + api + without(size, "0;") + end, protocol.VerifyFailed, 15},
		{"a header without the end of a block", "c", guard + api + without(size, "    }\n") + end, protocol.VerifyFailed, 0},
		{"a header without the end of a function", "c", guard + api + without(size, "\n}") + end + each, protocol.VerifyFailed, 0},
		{"branches that begin the same block", "c", loop, protocol.VerifyUnsupported, 0},
		{"an error beside branches", "c", loop + without(size, "(!q"), protocol.VerifyFailed, 0},
		{"a loop that is a macro", "c", each + size, protocol.VerifyUnsupported, 0},
		{"declarations that are macros", "cpp", suite + size, protocol.VerifyUnsupported, 0},
		{"an error beside macros", "cpp", suite + size + without(size, "size(const"), protocol.VerifyFailed, 0},
		{"an error, and no macro", "c", "#include <stddef.h>\n" + without(size, "return 0;\n    }"), protocol.VerifyFailed, 0},
		{"a class with a macro", "cpp", shape, protocol.VerifyUnsupported, 0},
		{"an error beside the class", "cpp", without(shape, "w * h;"), protocol.VerifyFailed, 9},
		{"modules of C++", "cpp", "module;\n#include <cstdio>\nexport module a:part;\nimport <vector>;\nexport int f();\n", protocol.VerifyUnsupported, 0},
		{"a header of C++", "h", "template <class T> class Stack : Base<T> {};\n", protocol.Verified, 0},
		{"a header of neither", "h", "class Stack : Base {\n  int f( { };\n", protocol.VerifyFailed, 0},
		{"a macro before the end of a namespace", "cpp", "namespace a {\n\nint f();\n\nDEFINE_STACK(int)\n}\n", protocol.VerifyUnsupported, 0},
		{"patterns of Dart", "dart", dart, protocol.VerifyUnsupported, 0},
		{"an error beside patterns", "dart", without(dart, "b;"), protocol.VerifyFailed, 0},
		{"a library of Dart", "dart", "library;\nimport 'a.dart';\nvoid main() {}\n", protocol.Verified, 0},
		{"PHP 8.3", "php", "<?php\nclass A { const int B = 1; public const ?C VOID = null; const STRING = 2; }\n", protocol.Verified, 0},
		{"wrong PHP 8.3", "php", "<?php\nclass A { const int B C = 1; }\n", protocol.VerifyFailed, 2},
		{"Scala 3", "scala", "object A {\n  def b: Boolean =\n    c\n      && d.e\n      || f.g\n}\n", protocol.VerifyUnsupported, 0},
		{"wrong Scala 2", "scala", "object A {\n  def b(c: Int): Boolean = c == )\n}\n", protocol.VerifyFailed, 2},
		{"Java 25", "java", "import module java.base;\nvoid main() { IO.println(1); }\nclass A extends B { A(int x) { check(x); super(x); } }\n", protocol.Verified, 0},
		{"wrong Java 25", "java", "import module java.base;\nclass A { A() { super(; } }\n", protocol.VerifyFailed, 2},
		{"Rust 2024", "rust", "unsafe extern \"C\" {\n    pub safe fn a(x: u8) -> u8;\n    unsafe fn b();\n    safe static C: u8;\n}\n" +
			"#[unsafe(no_mangle)]\npub extern \"C\" fn d() {}\nfn e<'a>(x: &'a u8) -> impl Sized + use<'a> { x }\n", protocol.Verified, 0},
		{"wrong Rust 2024", "rust", "unsafe extern \"C\" {\n    safe fn a(x: ) -> u8;\n}\n", protocol.VerifyFailed, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := v.Verify(t.Context(), c.language, c.code)
			if got.Verdict != c.want || (got.Verdict == protocol.VerifyUnsupported) != strings.HasPrefix(got.Reason, notMuch) {
				t.Fatalf("%+v\n%s", got, c.code)
			}
			if c.line > 0 && got.Diagnostics[0].Line != c.line {
				t.Errorf("%+v, want line %d", got.Diagnostics, c.line)
			}
		})
	}
}
