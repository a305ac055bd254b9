package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bellhop/agenthost/sandbox/launch"
	"bellhop/internal/owner"
	"bellhop/protocol"
)

// Users are the user ids under which a host that runs as root runs programs.
type Users struct {
	First, Last int // Last > First: each session has one of its own, and First is for programs without a session
	GID         int
	Name        string // of a single user; "" = none
}

// Words of a configuration in place of users.
const (
	UsersAuto = "auto" // ids that nothing else on a machine uses
	UsersHost = "host" // the id of the host
)

// automaticUsers are ids that neither people's accounts, services nor containers get, and others
// for machines, mostly containers, that do not have the first ones.
var automaticUsers = []Users{
	{First: 1_900_000_000, Last: 1_900_065_535, GID: 1_900_000_000},
	{First: 61_184, Last: 65_519, GID: 61_184},
}

// maxID is the largest user id; 2³² - 1 means none to the kernel.
const maxID = 1<<32 - 2

// ParseUsers reads what a configuration says about user ids: a name, an id, or a range "FIRST-LAST".
// It returns nil for UsersHost. CodeInvalid: there is no such user, or it is root.
func ParseUsers(text string) (*Users, error) {
	switch first, last, isRange := strings.Cut(text, "-"); {
	case text == UsersHost:
		return nil, nil //nolint:nilnil // no users beside the host's own
	case text == UsersAuto || text == "":
		return &Users{}, nil
	case isRange && isNumber(first):
		users := &Users{First: parseID(first), Last: parseID(last)}
		users.GID = users.First
		if users.First <= 0 || users.Last < users.First {
			return nil, errUsers(text, "A range is FIRST-LAST, such as 200000-265535, without root's id 0.")
		}
		return users, nil
	case isNumber(text):
		users := &Users{First: parseID(text), Last: parseID(text), GID: parseID(text)}
		if found, err := user.LookupId(text); err == nil {
			users.GID = parseID(found.Gid)
		}
		return users.check(text)
	default:
		found, err := user.Lookup(text)
		if err != nil {
			return nil, errUsers(text, "Create it, or write an id, a range of ids, auto or host.")
		}
		users := &Users{First: parseID(found.Uid), GID: parseID(found.Gid), Name: found.Username}
		users.Last = users.First
		return users.check(text)
	}
}

func (u *Users) check(text string) (*Users, error) {
	if u.First <= 0 || u.GID <= 0 {
		return nil, errUsers(text, "Agents need a user and a group that are not root's. 'host' keeps the host's user.")
	}
	return u, nil
}

func errUsers(text, hint string) error {
	return &protocol.Error{
		Code: protocol.CodeInvalid, Message: fmt.Sprintf("sandbox: no user %q for agents", text), Hint: hint,
	}
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// parseID returns -1 for a text that is no id.
func parseID(text string) int {
	id, err := strconv.Atoi(text)
	if err != nil || !isNumber(text) || id > maxID {
		return -1
	}
	return id
}

// Shared returns the id of programs that belong to no session.
func (u *Users) Shared() owner.ID { return owner.ID{UID: u.First, GID: u.GID} }

// IsRange reports whether each session gets an id of its own.
func (u *Users) IsRange() bool { return u.Last > u.First }

// Has reports whether an id is one of the sessions'.
func (u *Users) Has(id owner.ID) bool {
	first := u.First
	if u.IsRange() {
		first++
	}
	return id.GID == u.GID && first <= id.UID && id.UID <= u.Last
}

// String describes the ids for people.
func (u *Users) String() string {
	if u.IsRange() {
		return fmt.Sprintf("%d-%d", u.First, u.Last)
	}
	return cmp.Or(u.Name, strconv.Itoa(u.First))
}

// unreachable returns the first directory on the way to a path that a user cannot enter, "" if there is
// none.
func unreachable(path string, id owner.ID) string {
	var dirs []string
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if dir == filepath.Dir(dir) {
			break
		}
	}
	for _, dir := range slices.Backward(dirs) {
		info, err := os.Stat(dir)
		if err != nil {
			continue
		}
		at, mode := owner.Of(info), info.Mode().Perm()
		switch {
		case at.UID == id.UID:
			mode >>= 6
		case at.GID == id.GID:
			mode >>= 3
		}
		if mode&0o1 == 0 {
			return dir
		}
	}
	return ""
}

// choose returns the first automatic users that the system has, or the given ones if it has them.
func (u *Users) choose() (*Users, error) {
	candidates := automaticUsers
	if u.First != 0 {
		candidates = []Users{*u}
	}
	for _, candidate := range candidates {
		if hasIDs("/proc/self/uid_map", candidate.First, candidate.Last) &&
			hasIDs("/proc/self/gid_map", candidate.GID, candidate.GID) {
			return &candidate, nil
		}
	}
	return nil, fmt.Errorf("this container does not have the user ids %s", candidates[0].String())
}

// hasIDs reports whether a map of ids has all of a range. Without a map the system has every id.
func hasIDs(path string, first, last int) bool {
	content, err := os.ReadFile(path)
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(content)) {
		var inside, outside, size int
		if n, err := fmt.Sscan(line, &inside, &outside, &size); n == 3 && err == nil && inside <= first &&
			last < inside+size {
			return true
		}
	}
	return false
}

// openUsers makes programs run under other user ids if the system and the configured files allow it.
// Otherwise the level says why they keep the host's.
func (s *Sandbox) openUsers(measure func() *Level) {
	users, err := s.checkUsers()
	if err == nil {
		s.users = users
		level := measure()
		if level.Error == "" {
			level.User, level.NoNamespaces, level.NoNetwork = users.String(), s.level.NoNamespaces, s.level.NoNetwork
			s.level = level
			return
		}
		s.users, err = nil, fmt.Errorf("as user %d: %s", users.First, level.Error)
		measure() // sets what the level with the host's user has
	}
	s.level.NoUser = err.Error()
}

// checkUsers returns the users, or the reason why programs cannot have them.
func (s *Sandbox) checkUsers() (*Users, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("the host runs as user %d and not as root", os.Geteuid())
	}
	if s.level.Error != "" {
		return nil, errors.New("there is no sandbox")
	}
	if err := checkPowers(); err != nil {
		return nil, err
	}
	users, err := s.options.Users.choose()
	if err != nil {
		return nil, err
	}
	o, id := s.options, users.Shared()
	for _, path := range slices.Concat(o.Read, o.Others, []string{o.Programs}) {
		if err := s.checkPath(path, id, false); err != nil {
			return nil, err
		}
	}
	for _, path := range slices.Concat(o.Write, o.OthersWrite, o.InPlace) {
		if err := s.checkPath(path, id, true); err != nil {
			return nil, err
		}
	}
	if dir := unreachable(o.Data, id); dir != "" && !s.namespaces { // the host opens those below
		return nil, fmt.Errorf("without namespaces, other users cannot enter %s, which has the host's data: "+
			"move BELLHOP_HOST_DATA", dir)
	}
	return users, nil
}

// checkPath returns an error if programs of another user could not use a configured path.
func (s *Sandbox) checkPath(path string, id owner.ID, write bool) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil //nolint:nilerr // a missing path is ignored, as in the sandbox
	}
	if !s.namespaces {
		if dir := unreachable(path, id); dir != "" {
			return fmt.Errorf("without namespaces, other users cannot enter %s on the way to %s", dir, path)
		}
	}
	if launch.CanUse(info, id, write) {
		return nil
	}
	if !s.namespaces {
		return fmt.Errorf("without namespaces, other users cannot use %s, which belongs to user %d", path,
			owner.Of(info).UID)
	}
	if err := launch.CanShow(path, id); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
