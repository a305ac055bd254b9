package protocol

import (
	"strings"
	"testing"
)

func TestABranchIsNamedByAPlainName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"main", "release/1.2", "fix-1", "feature_ü", strings.Repeat("x", MaxBranch)} {
		if err := CheckBranch(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{
		"", "-D", "--upload-pack=touch", "a/-b", "..", "a..b", "../x", "main@{1}", "@", "HEAD", "refs/heads/main",
		"refs/tags/v1", "main\n", "a\nb", "a\x00b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[b", `a\b`, "a.lock", ".a",
		"a/.b", "a.", "/a", "a/", "a//b", strings.Repeat("x", MaxBranch+1),
	} {
		if err := CheckBranch(name); CodeOf(err) != CodeInvalid {
			t.Errorf("%q was accepted: %v", name, err)
		}
	}
}
