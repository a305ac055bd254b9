package app

import (
	"log/slog"
	"os"

	hostapi "bellhop/agenthost/api"
	"bellhop/internal/app/agents"
	"bellhop/policy"
	"bellhop/protocol"
)

// openPolicy opens the rules of the host's configuration file, which are reloaded
// when the file changes, or the built-in rules.
func (f HostFile) openPolicy(log *slog.Logger) (*policy.Live, error) {
	return policy.Open(policy.LiveOptions{File: f.path, Section: true, Engine: PolicyOptions(f), Log: log})
}

// PolicyOptions returns the options for rules on this machine, with the tool names
// of the file's agents and of the built-in ones. If the home directory is unknown,
// rules cannot resolve ~.
func PolicyOptions(f HostFile) policy.Options {
	options := policy.Options{ToolNames: map[string]map[string]string{}}
	for _, name := range f.agentNames() {
		agent, _ := agents.Find(f.Agents[name].KindOf(name)) // the file was checked
		options.ToolNames[name] = agent.ToolNames
	}
	if home, err := os.UserHomeDir(); err == nil {
		options.Home = home
	}
	return options
}

// showPolicy shows to the clients of a host that its policy file is wrong, or right again. The
// error itself names files of the host, so only its operator sees it.
func showPolicy(api *hostapi.API, isWrong bool) {
	const id = "policy"
	if isWrong {
		api.ShowNotice(id, protocol.AnnouncementWarning,
			"The host's policy file is wrong. The earlier rules stay in force until it is corrected.", "")
		return
	}
	api.ShowNotice(id, protocol.AnnouncementInfo, "", "The host's policy file is right again. Its rules are in force.")
}
