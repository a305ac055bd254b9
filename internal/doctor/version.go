package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bellhop/internal/lazyregexp"
	"bellhop/protocol"
)

// release is the version of a release. Other versions, such as "dev" or a commit after a release, have no order.
var release = lazyregexp.New(`^v(\d{1,9})\.(\d{1,9})\.(\d{1,9})$`)

// compareVersions returns -1 if a is the older release, 1 if it is the newer one. Otherwise ordered is false.
func compareVersions(a, b string) (order int, ordered bool) {
	of, than := release.FindStringSubmatch(a), release.FindStringSubmatch(b)
	if of == nil || than == nil {
		return 0, false
	}
	for i := 1; i < len(of) && order == 0; i++ {
		m, _ := strconv.Atoi(of[i]) // at most nine digits
		n, _ := strconv.Atoi(than[i])
		order = cmp.Compare(m, n)
	}
	return order, order != 0
}

// CheckVersion compares the version of a program, such as a host, with own, that of this one. It returns nothing if
// own is not known. subject begins the message: "It runs".
func CheckVersion(where, subject, version, own string) []Finding {
	const neighbours = " Versions that follow each other work together during an upgrade; others are not tested."
	order, ordered := compareVersions(version, own)
	var text, remedy string
	switch {
	case own == "":
		return nil
	case version == own:
		return []Finding{Good(CheckVersions, where, fmt.Sprintf("%s this version, %s.", subject, own))}
	case version == "":
		text, remedy = fmt.Sprintf("%s a version that it does not name; this program is %s.", subject, own),
			"Install the same version for both and start them again."
	case !ordered:
		text, remedy = fmt.Sprintf("%s another version, %s; this program is %s.", subject, version, own),
			"Install the same version for both and start them again."
	case order < 0:
		text, remedy = fmt.Sprintf("%s %s, which is older than this program, %s.", subject, version, own),
			"Upgrade the older program and start it again."
	default:
		text, remedy = fmt.Sprintf("%s %s, which is newer than this program, %s.", subject, version, own),
			"Upgrade this program and the broker, and start the broker again."
	}
	return []Finding{Warn(CheckVersions, where, text, remedy+neighbours)}
}

// Program is a version of Bellhop that uses the broker's database, and where.
type Program struct {
	Version   string // "" if it does not say
	Addresses []string
}

// Programs compares the programs that use the database with own, the version of this one. A program of the same
// version is not mentioned, unless all are.
func Programs(all []Program, own string) []Finding {
	var found []Finding
	for _, p := range all {
		if p.Version == own {
			continue
		}
		where := strings.Join(slices.Compact(slices.Sorted(slices.Values(p.Addresses))), ", ")
		found = append(found, CheckVersion(where, "A program on the database is of", protocol.HostVersion(p.Version), own)...)
	}
	if len(found) == 0 && own != "" {
		found = append(found, Good(CheckVersions, "", "All programs on the database are of this version, "+own+"."))
	}
	return found
}
