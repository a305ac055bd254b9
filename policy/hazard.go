package policy

import (
	"regexp"
	"slices"
	"strings"
)

// hazard says why a command is destructive, "" if it is not known to be. name is
// without its directory.
func hazard(name string, args []word, in feed) string {
	if judge := hazards[name]; judge != nil {
		return judge(options(args))
	}
	switch {
	case strings.HasPrefix(name, "mkfs."):
		return formats
	case in.piped && !in.static && runsInput(name, args):
		return "Runs whatever is piped to it"
	}
	return ""
}

const (
	formats   = "Formats or partitions a disk"
	powers    = "Stops or restarts the machine"
	asRoot    = "Runs with another user's rights"
	history   = "Throws away work or history in a repository"
	cloud     = "Deletes resources that others may use"
	databases = "Deletes a database or what is in it"
	accounts  = "Changes the accounts of the machine"
	everyone  = "Changes rights of a whole tree"
)

// sorted is the words of a command, options and others.
type sorted struct {
	short string // letters of all short options
	long  []string
	words []string // what is no option
	all   []string
	glob  bool // a word stands for names of files
}

func options(args []word) sorted {
	s := sorted{all: texts(args)}
	var short strings.Builder
	only := false
	for _, a := range args {
		switch {
		case only:
			s.words = append(s.words, a.text)
		case a.text == "--":
			only = true
		case strings.HasPrefix(a.text, "--"):
			s.long = append(s.long, a.text)
		case len(a.text) > 1 && a.text[0] == '-':
			short.WriteString(a.text[1:])
		default:
			s.words = append(s.words, a.text)
		}
		s.glob = s.glob || a.glob
	}
	s.short = short.String()
	return s
}

// has finds short letters and long options, which may be cut short or carry a
// value.
func (s *sorted) has(letters string, long ...string) bool {
	if strings.ContainsAny(s.short, letters) {
		return true
	}
	for _, given := range s.long {
		given, _, _ = strings.Cut(given, "=")
		for _, name := range long {
			if len(given) > 3 && strings.HasPrefix(name, given) {
				return true
			}
		}
	}
	return false
}

// first is the first word, mostly a subcommand.
func (s *sorted) first() string {
	if len(s.words) > 0 {
		return s.words[0]
	}
	return ""
}

func (s *sorted) any(words ...string) bool {
	return slices.ContainsFunc(s.all, func(a string) bool { return slices.Contains(words, a) })
}

func always(why string) func(sorted) string { return func(sorted) string { return why } }

func whenWord(why string, words ...string) func(sorted) string {
	return func(s sorted) string {
		if s.any(words...) {
			return why
		}
		return ""
	}
}

var hazards = map[string]func(sorted) string{
	"rm": removes, "shred": always("Destroys the content of files"), "srm": always("Destroys the content of files"), "wipe": always("Destroys the content of files"),
	"mkfs": always(formats), "mke2fs": always(formats), "mkswap": always(formats), "wipefs": always(formats), "fdisk": always(formats),
	"sfdisk": always(formats), "cfdisk": always(formats), "gdisk": always(formats), "sgdisk": always(formats), "parted": always(formats),
	"blkdiscard": always(formats), "hdparm": always(formats), "cryptsetup": always(formats), "zpool": whenWord(formats, "destroy", "labelclear"),
	"zfs": whenWord(formats, "destroy", "rollback"), "lvremove": always(formats), "vgremove": always(formats), "pvremove": always(formats), "dd": copies,
	"shutdown": always(powers), "reboot": always(powers), "poweroff": always(powers), "halt": always(powers), "telinit": always(powers),
	"init": whenWord(powers, "0", "6"), "kexec": always(powers),
	"systemctl": whenWord(powers, "poweroff", "reboot", "halt", "kexec", "emergency", "rescue", "suspend", "hibernate"),
	"sudo":      always(asRoot), "su": always(asRoot), "doas": always(asRoot), "pkexec": always(asRoot), "runuser": always(asRoot), "chroot": always(asRoot),
	"nsenter": always(asRoot), "chmod": rights, "chown": rights, "chgrp": rights, "setfacl": rights,
	"kill": kills, "killall5": always("Ends all processes"), "find": finds, "truncate": always("Cuts files off"), "mv": moves, "git": gits,
	"userdel": always(accounts), "groupdel": always(accounts), "useradd": always(accounts), "usermod": always(accounts), "passwd": always(accounts),
	"chpasswd": always(accounts), "visudo": always(accounts), "crontab": crontabs,
	"iptables": whenWord("Opens or closes the machine's network", "-F", "--flush", "-X", "-P"), "nft": whenWord("Opens or closes the machine's network", "flush", "delete"),
	"dropdb": always(databases), "psql": sql, "mysql": sql, "mariadb": sql, "sqlite3": sql, "redis-cli": sql, "mongo": sql, "mongosh": sql,
	"mysqladmin": whenWord(databases, "drop"), "docker": containers, "podman": containers, "docker-compose": containers,
	"kubectl": whenWord(cloud, "delete", "drain"), "helm": whenWord(cloud, "uninstall", "delete"), "terraform": whenWord(cloud, "destroy", "-destroy"),
	"tofu": whenWord(cloud, "destroy", "-destroy"), "pulumi": whenWord(cloud, "destroy"), "aws": clouds, "gcloud": clouds, "az": clouds, "gsutil": clouds,
	"gh": clouds, "npm": whenWord("Takes back what others depend on", "unpublish"), "insmod": always(asRoot), "rmmod": always(asRoot), "modprobe": always(asRoot),
	"rsync": func(s sorted) string {
		if s.has("", "--delete", "--delete-after", "--delete-before", "--remove-source-files") {
			return "Deletes what the other side does not have"
		}
		return ""
	},
}

func removes(s sorted) string {
	switch {
	case s.has("rR", "--recursive"):
		return "Deletes directories and all that is in them"
	case s.glob:
		return "Deletes every file that a pattern matches"
	case slices.ContainsFunc(s.all, func(a string) bool { return strings.HasPrefix(a, unknown) }):
		return "Deletes what is not known beforehand"
	}
	return ""
}

func copies(s sorted) string {
	for _, a := range s.all {
		if strings.HasPrefix(a, "of=") {
			return "Writes over a file or a disk byte by byte"
		}
	}
	return ""
}

func rights(s sorted) string {
	if s.has("R", "--recursive") || s.any("/", "777", "0777", "a+rwx", "u+s", "+s", "4755", "a+w", "o+w", "666") {
		return everyone
	}
	return ""
}

func kills(s sorted) string {
	if s.any("-1") && len(s.all) > 1 && s.all[len(s.all)-1] == "-1" {
		return "Ends all processes"
	}
	return ""
}

func finds(s sorted) string {
	if s.any("-delete") {
		return "Deletes what a search finds"
	}
	return ""
}

func moves(s sorted) string {
	if len(s.words) > 0 && harmless(s.words[len(s.words)-1]) {
		return "Moves files to where they are lost"
	}
	return ""
}

func crontabs(s sorted) string {
	if !s.has("l") {
		return "Changes what the machine runs by itself"
	}
	return ""
}

// gits finds the command behind git's own options.
func gits(s sorted) string {
	args := s.all
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"}, args[0]) && len(args) > 1 {
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return ""
	}
	o := options(known(args[1:]))
	lost := false
	switch args[0] {
	case "push":
		lost = o.has("fd", "--force", "--force-with-lease", "--force-if-includes", "--mirror", "--delete", "--prune") ||
			slices.ContainsFunc(o.words, func(a string) bool { return strings.HasPrefix(a, "+") || strings.HasPrefix(a, ":") })
	case "reset":
		lost = o.has("", "--hard", "--merge", "--keep")
	case "clean":
		lost = o.has("fxX", "--force")
	case "branch":
		lost = o.has("D") || o.has("d", "--delete") && o.has("f", "--force")
	case "checkout", "switch":
		lost = o.has("f", "--force", "--discard-changes") || slices.Contains(args, "--") || o.first() == "."
	case "restore":
		lost = !o.has("S", "--staged") || o.has("W", "--worktree")
	case "stash":
		lost = o.first() == "drop" || o.first() == "clear"
	case "update-ref":
		lost = o.has("d", "--delete")
	case "reflog":
		lost = o.first() == "expire" || o.first() == "delete"
	case "worktree":
		lost = o.first() == "remove" && o.has("f", "--force")
	case "filter-branch", "filter-repo":
		lost = true
	case "gc":
		lost = o.has("", "--prune", "--aggressive")
	}
	if lost {
		return history
	}
	return ""
}

var sqlLoss = regexp.MustCompile(`(?i)\b(?:drop\s+(?:database|table|schema|user|index|view|collection)|truncate\b|flushall|flushdb|dropDatabase|deleteMany|\.drop\(|delete\s+from|alter\s+table\s+\S+\s+drop)`)

func sql(s sorted) string {
	if sqlLoss.MatchString(strings.Join(s.all, " ")) {
		return databases
	}
	return ""
}

func containers(s sorted) string {
	switch {
	case s.any("prune"), s.any("rm", "rmi", "kill") && s.has("fv", "--force", "--volumes"), s.first() == "volume" && s.any("rm", "remove"),
		s.any("down") && s.has("v", "--volumes"):
		return "Deletes containers, images or volumes"
	case s.has("", "--privileged"), s.any("/:/host", "/:/mnt", "/:/hostfs"):
		return asRoot
	}
	return ""
}

var cloudLoss = regexp.MustCompile(`^(?:delete|rm|rb|destroy|remove|purge|terminate|terminate-.*|delete-.*|deregister-.*)$`)

func clouds(s sorted) string {
	if slices.ContainsFunc(s.words, cloudLoss.MatchString) {
		return cloud
	}
	return ""
}

// interpreters run their standard input when they are given nothing else.
var interpreters = append([]string{"python", "python2", "python3", "perl", "ruby", "node", "deno", "bun", "php", "lua", "Rscript", "osascript", "tclsh", "pwsh"}, shells...)

func runsInput(name string, args []word) bool {
	if !slices.Contains(interpreters, name) {
		return false
	}
	if slices.Contains(shells, name) {
		code, file := shellArguments(args)
		return code == nil && file == nil
	}
	return !slices.ContainsFunc(args, func(a word) bool {
		return len(a.text) > 0 && a.text[0] != '-' || strings.HasPrefix(a.text, "-c") || strings.HasPrefix(a.text, "-e") || strings.HasPrefix(a.text, "-m") ||
			strings.HasPrefix(a.text, "--eval") || a.text == "--version" || a.text == "-V" || a.text == "-v" || a.text == "-r" || a.text == "-p"
	})
}
