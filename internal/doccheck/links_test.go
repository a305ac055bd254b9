package doccheck

import (
	"path"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLinksResolve(t *testing.T) {
	t.Parallel()
	all := pages(t)
	anchors := map[string]map[string]bool{}
	for _, p := range all {
		anchors[p.name] = p.anchors()
	}
	for _, p := range all {
		for _, l := range p.lines {
			for _, target := range l.links() {
				checkLink(t, p.name, l.number, target, anchors)
			}
		}
	}
}

func checkLink(t *testing.T, page string, number int, target string, anchors map[string]map[string]bool) {
	t.Helper()
	file, anchor, _ := strings.Cut(target, "#")
	name := page
	if file != "" {
		name = path.Join(path.Dir(page), file)
	}
	switch {
	case !exists(t, name):
		t.Errorf("%s:%d: %s does not exist", page, number, target)
	case anchor != "" && !anchors[name][anchor]:
		t.Errorf("%s:%d: %s has no heading #%s", page, number, name, anchor)
	}
}
