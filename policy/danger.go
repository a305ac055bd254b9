package policy

import (
	"slices"
	"strings"

	"bellhop/internal/lazyregexp"
)

// danger returns why a command is destructive, or "" if it is not known to be. name
// has no directory.
func danger(name string, args []word, in stdin) string {
	if dangerRule := dangers[name]; dangerRule != nil {
		return dangerRule(options(args))
	}
	switch {
	case always[name] != "":
		return always[name]
	case strings.HasPrefix(name, "mkfs."):
		return formats
	case in.piped && !in.isKnown && runsInput(name, args):
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
	network   = "Opens or closes the machine's network"

	allProcesses = "Ends all processes"
)

// commandWords holds the words of a command, separated into options and operands.
type commandWords struct {
	short string // letters of all short options
	long  []string
	words []string // all words that are not options
	all   []string
	glob  bool // a word contains a pattern for file names
}

func options(args []word) commandWords {
	s := commandWords{all: texts(args)}
	var short strings.Builder
	operandsOnly := false // after --
	for _, a := range args {
		switch {
		case operandsOnly:
			s.words = append(s.words, a.text)
		case a.text == "--":
			operandsOnly = true
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

// has reports whether an option is set: one of the short letters, or a long option,
// which may be abbreviated or have a value.
func (s *commandWords) has(letters string, long ...string) bool {
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

// first returns the first operand, usually a subcommand.
func (s *commandWords) first() string {
	if len(s.words) > 0 {
		return s.words[0]
	}
	return ""
}

func (s *commandWords) any(words ...string) bool {
	return slices.ContainsFunc(s.all, func(a string) bool { return slices.Contains(words, a) })
}

// when returns why if the condition holds, otherwise "".
func when(holds bool, why string) string {
	if holds {
		return why
	}
	return ""
}

func whenWord(why string, words ...string) dangerRule {
	return func(s commandWords) string { return when(s.any(words...), why) }
}

// A dangerRule returns why a command with these words is destructive, or "".
type dangerRule func(commandWords) string

var dangers = map[string]dangerRule{
	"dd": ddDanger, "rm": rmDanger, "mv": mvDanger, "find": findDanger, "git": gitDanger,
	"kill": killDanger, "crontab": crontabDanger,
	"chmod": rightsDanger, "chown": rightsDanger, "chgrp": rightsDanger, "setfacl": rightsDanger,
	"psql": sqlDanger, "mysql": sqlDanger, "mariadb": sqlDanger, "sqlite3": sqlDanger, "redis-cli": sqlDanger,
	"mongo": sqlDanger, "mongosh": sqlDanger,
	"docker": containerDanger, "podman": containerDanger, "docker-compose": containerDanger,
	"aws": cloudDanger, "gcloud": cloudDanger, "az": cloudDanger, "gsutil": cloudDanger, "gh": cloudDanger,

	"zpool":     whenWord(formats, "destroy", "labelclear"),
	"zfs":       whenWord(formats, "destroy", "rollback"),
	"init":      whenWord(powers, "0", "6"),
	"systemctl": whenWord(powers, "poweroff", "reboot", "halt", "kexec", "emergency", "rescue", "suspend", "hibernate"),
	"iptables":  whenWord(network, "-F", "--flush", "-X", "-P"), "nft": whenWord(network, "flush", "delete"),
	"mysqladmin": whenWord(databases, "drop"),
	"kubectl":    whenWord(cloud, "delete", "drain"), "helm": whenWord(cloud, "uninstall", "delete"),
	"terraform": whenWord(cloud, "destroy", "-destroy"), "tofu": whenWord(cloud, "destroy", "-destroy"),
	"pulumi": whenWord(cloud, "destroy"), "npm": whenWord("Takes back what others depend on", "unpublish"),
	"rsync": func(s commandWords) string {
		deletes := s.has("", "--delete", "--delete-after", "--delete-before", "--remove-source-files")
		return when(deletes, "Deletes what the other side does not have")
	},
}

// always lists the programs that are destructive with any words.
var always = table(map[string]string{
	"Destroys the content of files": "shred srm wipe",
	formats: "mkfs mke2fs mkswap wipefs fdisk sfdisk cfdisk gdisk sgdisk parted blkdiscard hdparm cryptsetup " +
		"lvremove vgremove pvremove",
	powers:           "shutdown reboot poweroff halt telinit kexec",
	asRoot:           "sudo su doas pkexec runuser chroot nsenter insmod rmmod modprobe",
	allProcesses:     "killall5",
	"Cuts files off": "truncate",
	accounts:         "userdel groupdel useradd usermod passwd chpasswd visudo",
	databases:        "dropdb",
})

func rmDanger(s commandWords) string {
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

func ddDanger(s commandWords) string {
	writes := slices.ContainsFunc(s.all, func(a string) bool { return strings.HasPrefix(a, "of=") })
	return when(writes, "Writes over a file or a disk byte by byte")
}

func rightsDanger(s commandWords) string {
	return when(s.has("R", "--recursive") || s.any("/", "777", "0777", "a+rwx", "u+s", "+s", "4755", "a+w", "o+w", "666"),
		everyone)
}

func killDanger(s commandWords) string {
	return when(len(s.all) > 1 && s.all[len(s.all)-1] == "-1", allProcesses)
}

func findDanger(s commandWords) string {
	return when(s.any("-delete"), "Deletes what a search finds")
}

func mvDanger(s commandWords) string {
	return when(len(s.words) > 0 && isPseudoDevice(s.words[len(s.words)-1]), "Moves files to where they are lost")
}

func crontabDanger(s commandWords) string {
	return when(!s.has("l"), "Changes what the machine runs by itself")
}

// gitDanger finds the subcommand after git's own options.
func gitDanger(s commandWords) string {
	args := s.all
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"}, args[0]) &&
			len(args) > 1 {
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return ""
	}
	loses := gitLosses[args[0]]
	return when(loses != nil && loses(options(literalWords(args[1:]))), history)
}

// gitLosses are the git subcommands that discard work with some options.
var gitLosses = map[string]func(commandWords) bool{
	"push": func(s commandWords) bool {
		return s.has("fd", "--force", "--force-with-lease", "--force-if-includes", "--mirror", "--delete", "--prune") ||
			slices.ContainsFunc(s.words, func(a string) bool { return strings.HasPrefix(a, "+") || strings.HasPrefix(a, ":") })
	},
	"reset":         func(s commandWords) bool { return s.has("", "--hard", "--merge", "--keep") },
	"clean":         func(s commandWords) bool { return s.has("fxX", "--force") },
	"branch":        func(s commandWords) bool { return s.has("D") || s.has("d", "--delete") && s.has("f", "--force") },
	"checkout":      gitSwitches,
	"switch":        gitSwitches,
	"restore":       func(s commandWords) bool { return !s.has("S", "--staged") || s.has("W", "--worktree") },
	"stash":         func(s commandWords) bool { return s.first() == "drop" || s.first() == "clear" },
	"rm":            func(s commandWords) bool { return s.has("rf", "--force") },
	"update-ref":    func(s commandWords) bool { return s.has("d", "--delete") },
	"reflog":        func(s commandWords) bool { return s.first() == "expire" || s.first() == "delete" },
	"worktree":      func(s commandWords) bool { return s.first() == "remove" && s.has("f", "--force") },
	"filter-branch": func(commandWords) bool { return true },
	"filter-repo":   func(commandWords) bool { return true },
	"gc":            func(s commandWords) bool { return s.has("", "--prune", "--aggressive") },
}

func gitSwitches(s commandWords) bool {
	return s.has("f", "--force", "--discard-changes") || s.any("--") || s.first() == "."
}

var sqlLoss = lazyregexp.New(`(?i)\b(?:drop\s+(?:database|table|schema|user|index|view|collection)|truncate\b|flushall|flushdb` +
	`|dropDatabase|deleteMany|\.drop\(|delete\s+from|alter\s+table\s+\S+\s+drop)`)

func sqlDanger(s commandWords) string {
	return when(sqlLoss.MatchString(strings.Join(s.all, " ")), databases)
}

func containerDanger(s commandWords) string {
	switch {
	case s.any("prune"), s.any("rm", "rmi", "kill") && s.has("fv", "--force", "--volumes"),
		s.first() == "volume" && s.any("rm", "remove"),
		s.any("down") && s.has("v", "--volumes"):
		return "Deletes containers, images or volumes"
	case s.has("", "--privileged"), s.any("/:/host", "/:/mnt", "/:/hostfs"):
		return asRoot
	}
	return ""
}

var cloudLoss = lazyregexp.New(`^(?:delete|rm|rb|destroy|remove|purge|terminate|terminate-.*|delete-.*|deregister-.*)$`)

func cloudDanger(s commandWords) string {
	return when(slices.ContainsFunc(s.words, cloudLoss.MatchString), cloud)
}
