package release

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	tagged   = regexp.MustCompile(`^v(\d+\.\d+\.)(\d+)(-[0-9A-Za-z.]+)?(?:-(\d+)-(g[0-9a-f]+))?$`)
	untagged = regexp.MustCompile(`^[0-9a-f]{7,40}$`)
)

// number returns the semantic version of what "git describe --tags --always" prints. Package managers order
// versions by it: a commit is after the tag before it, and before the next one. A commit without a tag before it
// is before all versions.
func number(version string) (string, error) {
	if strings.HasSuffix(version, "-dirty") {
		return "", fmt.Errorf("%s has changes that are not committed: a release is built from a commit", version)
	}
	if untagged.MatchString(version) {
		return "0.0.0-g" + version, nil // a part of digits only must not begin with 0
	}
	parts := tagged.FindStringSubmatch(version)
	if parts == nil {
		return "", fmt.Errorf("%q is no version such as v1.2.3", version)
	}
	minor, patch, candidate, commits, id := parts[1], parts[2], parts[3], parts[4], parts[5]
	switch {
	case commits == "":
		return minor + patch + candidate, nil
	case candidate != "":
		return minor + patch + candidate + ".0." + commits + "." + id, nil
	}
	n, err := strconv.Atoi(patch)
	if err != nil {
		return "", fmt.Errorf("%q: %w", version, err)
	}
	return minor + strconv.Itoa(n+1) + "-0." + commits + "." + id, nil
}
