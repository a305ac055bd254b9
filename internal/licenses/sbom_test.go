package licenses

import (
	"bytes"
	"encoding/json"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

// builtFrom is what Go writes into a binary that links all modules.
func builtFrom(t *testing.T) *debug.BuildInfo {
	t.Helper()
	info := &debug.BuildInfo{GoVersion: "go1.26.1"}
	info.Settings = []debug.BuildSetting{{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}}
	for _, m := range linkedModules(t)[1:] {
		info.Deps = append(info.Deps, &debug.Module{Path: m.name, Version: m.version})
	}
	return info
}

func writtenBill(t *testing.T, info *debug.BuildInfo) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := WriteBill(&out, "v1.2.3", info); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The members and patterns are those that the schema of CycloneDX 1.6 requires.
func TestTheBillOfMaterialsFollowsItsSchema(t *testing.T) {
	t.Parallel()
	text := writtenBill(t, builtFrom(t))
	var b struct {
		BomFormat, SpecVersion, SerialNumber string
		Version                              int
		Metadata                             struct {
			Timestamp string
			Component billComponent
		}
		Components   []billComponent
		Dependencies []billLinks
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&b); err != nil {
		t.Fatal(err)
	}
	uuid := regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	own := b.Metadata.Component
	if b.BomFormat != "CycloneDX" || b.SpecVersion != "1.6" || b.Version < 1 || !uuid.MatchString(b.SerialNumber) ||
		own.Type != "application" || own.Name != "bellhop" || own.Version != "v1.2.3" || b.Metadata.Timestamp == "" {
		t.Errorf("%.600s", text)
	}
	refs := map[string]bool{}
	purl := regexp.MustCompile(`^pkg:(golang|npm)/[A-Za-z0-9%._~/-]+@[A-Za-z0-9%._-]+$`)
	for _, c := range b.Components {
		if c.Type != "library" || c.Name == "" || c.Version == "" || !purl.MatchString(c.PURL) || refs[c.Ref] {
			t.Errorf("component %+v", c)
		}
		if len(c.Licenses) == 0 {
			t.Errorf("%s has no license", c.Name)
		}
		for _, l := range c.Licenses {
			if !isAllowed(l.License.ID) {
				t.Errorf("%s has the license %q", c.Name, l.License.ID)
			}
		}
		refs[c.Ref] = true
	}
	for _, ref := range b.Dependencies[0].DependsOn {
		if !refs[ref] {
			t.Errorf("%s depends on %s, which is no component", b.Dependencies[0].Ref, ref)
		}
	}
	if len(refs) != len(linked(t)) || len(b.Dependencies[0].DependsOn) != len(refs) {
		t.Errorf("%d components of %d", len(refs), len(linked(t)))
	}
}

func TestABinaryHasOneBillOfMaterials(t *testing.T) {
	t.Parallel()
	info := builtFrom(t)
	first := writtenBill(t, info)
	if !bytes.Equal(first, writtenBill(t, info)) {
		t.Error("the second bill differs")
	}
	info.Deps[0].Version = "v99.0.0"
	info.Deps[1].Replace = &debug.Module{Path: "example.org/replacement", Version: "v1.0.0"}
	other := string(writtenBill(t, info))
	if !strings.Contains(other, "@v99.0.0") || !strings.Contains(other, "pkg:golang/example.org/replacement@v1.0.0") {
		t.Error("the bill lists other versions than the binary has")
	}
	number := regexp.MustCompile(`urn:uuid:[0-9a-f-]+`)
	if number.FindString(other) == number.FindString(string(first)) {
		t.Error("another binary has the same serial number")
	}
}
