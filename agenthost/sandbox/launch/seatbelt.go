package launch

import (
	"slices"
	"strings"
)

// What every program can read on macOS, where /etc, /tmp and /var lead below /private.
var seatbeltRead = []string{
	"/Applications", "/Library", "/System", "/bin", "/dev", "/opt", "/private/etc", "/private/var/db/timezone",
	"/private/var/run/resolv.conf", "/private/var/select", "/sbin", "/usr",
}

// seatbeltSecret is not readable although it lies in a directory of seatbeltRead.
var seatbeltSecret = []string{
	"/Library/Keychains", "/private/etc/master.passwd", "/private/etc/ssh", "/private/etc/sudoers",
	"/private/etc/sudoers.d",
}

// seatbeltDevices can be written by every program.
var seatbeltDevices = []string{"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"}

// seatbelt returns the profile of macOS's sandbox-exec for a spec: of the rules that match an operation, the
// last one counts. It knows files, signals, information of processes and socket files. No namespaces, no
// network of its own and no users exist there.
func seatbelt(spec Spec) string {
	var p strings.Builder
	line := func(parts ...string) { p.WriteString("(" + strings.Join(parts, " ") + ")\n") }
	read := slices.Concat(seatbeltRead, spec.Read, spec.Write)
	line("version 1")
	line("allow default")
	line("deny file-read* file-write*")
	line("allow file-read-metadata")
	line("allow file-read*", `(literal "/")`, seatbeltPaths("subpath", read))
	line("deny file-read*", seatbeltPaths("subpath", seatbeltSecret))
	line("allow file-write*", seatbeltPaths("literal", seatbeltDevices), `(regex #"^/dev/ttys[0-9]+$")`)
	if len(spec.Write) > 0 {
		line("allow file-read* file-write*", seatbeltPaths("subpath", spec.Write))
	}
	line("deny file-write-setugid")
	line("deny signal")
	line("allow signal (target same-sandbox)")
	line("deny process-info*")
	line("allow process-info* (target same-sandbox)")
	line(`deny sysctl-read (sysctl-name-prefix "kern.procargs")`)
	line("deny sysctl-write")
	line("deny mach-priv-host-port mach-priv-task-port")
	line("deny system-kext* system-mac-label system-privilege system-reboot system-set-time")
	line("deny network-outbound (remote unix-socket)")
	line("allow network-outbound", `(remote unix-socket (path-literal "/private/var/run/mDNSResponder"))`)
	for _, path := range spec.Write {
		line("allow network-outbound", "(remote unix-socket (subpath "+seatbeltString(path)+"))")
	}
	return p.String()
}

func seatbeltPaths(kind string, paths []string) string {
	paths = slices.Clone(paths)
	slices.Sort(paths)
	var filters []string
	for _, path := range slices.Compact(paths) {
		filters = append(filters, "("+kind+" "+seatbeltString(path)+")")
	}
	return strings.Join(filters, " ")
}

// seatbeltString quotes a string of a profile: a path must not end it.
func seatbeltString(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
