package workspace

import (
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// suspicious matches the last part of a key that may name a program, a file, an address or a repository, or
// switch on what does.
var suspicious = regexp.MustCompile(`(?i)(` + strings.Join(strings.Fields(`
	command commands cmd cmdprefix program editor pager hook hookspath helper driver proxy textconv external askpass
	browser viewer tool guitool clean smudge process required tunnel server httpd insteadof url uri resolve uploadpack
	receivepack vcs path file dir template templatedir recurse recursesubmodules recursive submodule update autoupdate
	worktree promisor partialclone difffilter diff fsmonitor allow gpgsign include alternate\w* target showsignature
	verifysignatures remote pushremote pushdefault list blob extraheader cookie\w* ignorerevs\w* map run exec shell
	script \* <cmd> \w*key\w*`), "|") + `)$`)

// unused are the keys of that kind that start and redirect nothing of the host, by the reason.
var unused = map[string][]string{
	"git add --interactive": {"add.interactive.useBuiltin"},
	"git blame":             {"blame.ignoreRevsFile"},
	"git web--browse":       {"browser.<tool>.cmd", "browser.<tool>.path", "web.browser"},
	"git help":              {"man.<tool>.cmd", "man.<tool>.path", "man.viewer", "help.browser", "help.htmlPath"},
	"completion of a shell": {"completion.commands"},
	"git instaweb":          {"instaweb.browser", "instaweb.httpd", "instaweb.modulePath"},
	"git gui":               {"guitool.<name>.cmd", "guitool.<name>.needsFile", "gui.newBranchTemplate"},
	"git cvsserver":         {"gitcvs.dbDriver", "gitcvs.logFile", "gitcvs.dbPass"},
	"gitweb":                {"gitweb.url", "gitweb.remote_heads"},
	"git imap-send":         {"imap.tunnel"},
	"git difftool":          {"difftool.<tool>.path"},
	"git mergetool":         {"mergetool.<tool>.path"},
	"git send-email": {
		"sendemail.aliasesFile", "sendemail.ccCmd", "sendemail.tocmd", "sendemail.smtpServer",
		"sendemail.<identity>.*", "sendemail.smtpsslcertpath",
	},
	"git format-patch":                {"format.signatureFile"},
	"the host never edits a message":  {"commit.template"},
	"the host never merges":           {"rerere.autoUpdate", "merge.<driver>.recursive"},
	"starts nothing without textconv": {"diff.<driver>.cachetextconv"},
	"GIT_WORK_TREE is set":            {"core.bare"},
	"read from the settings of the system only": {
		"trace2.destinationDebug", "trace2.eventTarget", "trace2.normalTarget", "trace2.perfTarget",
	},
	"core.fsmonitor is off": {"fsmonitor.socketDir", "fsmonitor.allowRemote"},
	"the host sets it": {
		"safe.directory", "checkout.defaultRemote", "core.attributesFile", "core.excludesFile", "core.quotePath",
	},
	"git log --use-mailmap":       {"mailmap.file", "mailmap.blob", "log.mailmap"},
	"sets other keys":             {"feature.*"},
	"git receive-pack":            {"receive.updateServerInfo", "receive.shallowUpdate"},
	"no signature is checked":     {"gpg.ssh.allowedSignersFile", "gpg.ssh.revocationFile"},
	"git upload-pack of a remote": {"uploadpackfilter.<filter>.allow", "uploadpackfilter.allow"},
	"update's scratch repository": {
		"http.proxySSLCAInfo", "http.proxySSLKey", "http.sslKey", "http.pinnedPubkey", "http.sslCAPath",
		"http.<url>.*", "http.saveCookies", "http.sslCipherList",
	},
	"git clone --bundle-uri":                             {"bundle.*", "bundle.<id>.*"},
	"given as an argument":                               {"clone.defaultRemoteName"},
	"helpers are in the catalogue, the rest names users": {"credential.<url>.*"},
	"TestMissingObjectsAreNotFetched":                    {"remote.<name>.promisor"},
	"TestAnotherWorkTreeIsNotRead":                       {"core.worktree"},
	"TestNoSettingOfAWorktreeStartsAProgram":             {"extensions.worktreeConfig"},
	"TestModulesOfARepositoryAreNotFilled": {
		"submodule.<name>.url", "submodule.<name>.fetchRecurseSubmodules", "submodule.alternateLocation",
		"submodule.alternateErrorStrategy",
	},
	"git clone":                                {"clone.rejectShallow"},
	"chooses a user":                           {"credential.useHttpPath"},
	"only an order":                            {"diff.orderFile"},
	"the host's git has no terminal":           {"interactive.singleKey", "pager.<cmd>"},
	"git push without a branch":                {"push.autoSetupRemote"},
	"the host never rebases":                   {"rebase.abbreviateCommands", "rebase.rescheduleFailedExec"},
	"git remote update":                        {"remote.<name>.skipDefaultUpdate"},
	"only a warning":                           {"transfer.credentialsInUrl"},
	"git worktree add":                         {"worktree.guessRemote"},
	"an alias never replaces a command of git": {"alias.*"},
	"GIT_ALLOW_PROTOCOL":                       {"protocol.allow", "protocol.<name>.allow"},
	"the host never rewrites commits":          {"notes.rewrite.<command>"},
	"nothing is signed":                        {"user.signingKey"},
	"git repack":                               {"repack.updateServerInfo"},
	"names refs":                               {"core.alternateRefsPrefixes"},
}

// plain are sections whose keys are only texts, colours and severities.
var plain = regexp.MustCompile(`^(advice|color|column|(receive\.|fetch\.)?fsck)\.`)

// placeholder matches what the catalogue has a name for: "diff.<driver>.command" is "diff.bad.command".
var placeholder = regexp.MustCompile(`<[^>]*>`)

// Each key of this git whose name suggests a program, a file or an address is in the catalogue, or is known
// to be unused. The list grows with git: a new key needs a decision.
func TestEverySettingOfGitIsKnown(t *testing.T) {
	t.Parallel()
	keys, err := exec.Command("git", "help", "--config").Output()
	must(t, err)
	known := knownKeys()
	count := 0
	for key := range strings.FieldsSeq(string(keys)) {
		if !strings.Contains(key, ".") || plain.MatchString(key) || !suspicious.MatchString(key) {
			continue
		}
		if count++; !known(key) {
			t.Errorf("%s may start a program or lead elsewhere: add it to dangers, redirects or unused", key)
		}
	}
	if count < 100 {
		t.Errorf("git lists %d such keys", count)
	}
}

// knownKeys returns whether a key is in dangers, redirects or unused.
func knownKeys() func(key string) bool {
	settings := slices.Clone(redirects)
	for _, h := range dangers {
		settings = append(settings, h.settings...)
	}
	for i, setting := range settings {
		settings[i] = strings.ToLower(setting[:strings.LastIndexByte(setting, '=')])
	}
	harmless := slices.Concat(slices.Collect(maps.Values(unused))...)
	return func(key string) bool {
		pattern := regexp.QuoteMeta(strings.ToLower(placeholder.ReplaceAllString(key, "*")))
		pattern = "^" + strings.ReplaceAll(pattern, `\*`, ".*") + "$"
		return slices.Contains(harmless, key) || slices.ContainsFunc(settings, regexp.MustCompile(pattern).MatchString)
	}
}
