package doctor

import (
	"strings"
	"testing"
)

func TestAnotherVersionIsNamedAndOrderedOnlyIfBothAreReleases(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version, own string
		level        Level
		want         string
	}{
		"equal releases":                {"v1.2.3", "v1.2.3", OK, "this version, v1.2.3."},
		"equal commits":                 {"5f8ae2d", "5f8ae2d", OK, "this version, 5f8ae2d."},
		"both in development":           {"dev", "dev", OK, "this version, dev."},
		"an older patch":                {"v1.2.3", "v1.2.10", Warning, "v1.2.3, which is older than this program, v1.2.10."},
		"an older minor":                {"v1.9.7", "v1.10.0", Warning, "older than"},
		"a newer major":                 {"v10.0.0", "v9.9.9", Warning, "v10.0.0, which is newer than this program, v9.9.9."},
		"a commit after the release":    {"v1.2.3-4-gabcdef0", "v1.2.3", Warning, "another version, v1.2.3-4-gabcdef0;"},
		"changes beside a release":      {"v1.2.3-dirty", "v1.2.4", Warning, "another version"},
		"a candidate":                   {"v1.3.0-rc1", "v1.3.0", Warning, "another version"},
		"a commit and a release":        {"5f8ae2d", "v1.3.0", Warning, "another version"},
		"development and a release":     {"v1.3.0", "dev", Warning, "another version, v1.3.0; this program is dev."},
		"a number beyond all":           {"v1.2.99999999999999999999", "v1.2.3", Warning, "another version"},
		"a program that does not say":   {"", "v1.3.0", Warning, "a version that it does not name; this program is v1.3.0."},
		"this program is not a version": {"v1.3.0", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := CheckVersion("far", "It runs", c.version, c.own)
			if c.level == "" {
				if len(found) != 0 {
					t.Errorf("%+v", found)
				}
				return
			}
			if len(found) != 1 || found[0].Level != c.level || found[0].Check != CheckVersions || found[0].Where != "far" ||
				!strings.HasPrefix(found[0].Message, "It runs ") || !strings.Contains(found[0].Message, c.want) ||
				(found[0].Remedy == "") != (c.level == OK) {
				t.Errorf("%+v", found)
			}
		})
	}
}

func TestEachOtherVersionOnTheDatabaseIsNamedWithItsMachines(t *testing.T) {
	t.Parallel()
	found := Programs([]Program{
		{Version: "", Addresses: []string{"10.0.0.9"}},
		{Version: "v1.2.9", Addresses: []string{"10.0.0.5", "10.0.0.4", "10.0.0.5"}},
		{Version: "v1.3.0", Addresses: []string{"10.0.0.6"}},
	}, "v1.3.0")
	if len(found) != 2 || found[0].Where != "10.0.0.9" || !strings.Contains(found[0].Message, "does not name") ||
		found[1].Where != "10.0.0.4, 10.0.0.5" || !strings.Contains(found[1].Message, "older than") {
		t.Errorf("%+v", found)
	}
	alone := Programs([]Program{{Version: "v1.3.0", Addresses: []string{"10.0.0.6"}}}, "v1.3.0")
	if len(alone) != 1 || alone[0].Level != OK {
		t.Errorf("%+v", alone)
	}
}
