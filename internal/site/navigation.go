package site

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// chapter is a part of the navigation with its pages, by their files.
type chapter struct {
	title string
	files []string
}

// navigation has every page. A page that is missing here fails the build, so that none is out of reach.
var navigation = []chapter{
	{"Start", []string{
		"README.md", "docs/quickstart.md", "docs/concepts.md", "docs/tutorials/app.md", "docs/tutorials/agent.md",
		"docs/tutorials/hosts.md", "docs/faq.md", "docs/comparison.md",
	}},
	{"Use", []string{
		"docs/console.md", "docs/agents.md", "docs/policy.md", "docs/notebooks.md", "docs/headless.md",
	}},
	{"Build", []string{
		"docs/frontends.md", "web/client/README.md", "examples/frontends/README.md", "docs/agent-server.md",
	}},
	{"Operate", []string{
		"docs/install.md", "docs/configuration.md", "docs/operations.md", "docs/proxies.md", "docs/metrics.md",
		"docs/sizing.md", "docs/benchmarks.md",
		"docs/versioning.md", "CHANGELOG.md",
	}},
	{"Trust", []string{"docs/security.md", "SECURITY.md", "docs/reliability.md"}},
	{"API", []string{
		"docs/protocol.md", "docs/protocol/broker.md", "docs/protocol/host.md", "docs/protocol/streams.md",
		"docs/protocol/webhooks.md", "docs/protocol/headless.md", "docs/protocol/notebooks.md",
		"docs/protocol/commands.md",
	}},
	{"Project", []string{
		"docs/architecture.md", "docs/glossary.md", "CONTRIBUTING.md", "RELEASING.md", "AGENTS.md", decisions,
	}},
}

// decisions is a page that is no file: the list of the decisions.
const decisions = "docs/adr/README.md"

// home is the page at the root of the site.
const home = "README.md"

// address returns where a page is in the site.
func address(file string) string {
	if file == home {
		return "index.html"
	}
	file = strings.TrimPrefix(file, "docs/")
	dir, name := path.Split(file)
	if name == "README.md" {
		return dir + "index.html"
	}
	return strings.TrimSuffix(file, ".md") + ".html"
}

// listed reports whether the navigation leads to a page: directly, or by the list of the decisions.
func listed(file string) bool {
	return path.Dir(file) == path.Dir(decisions) ||
		slices.ContainsFunc(navigation, func(c chapter) bool { return slices.Contains(c.files, file) })
}

// checkNavigation compares the navigation with the pages that exist.
func checkNavigation(pages map[string]*page) (faults []error) {
	for _, c := range navigation {
		for _, file := range c.files {
			if pages[file] == nil {
				faults = append(faults, fmt.Errorf("the navigation has %s, which does not exist", file))
			}
		}
	}
	for _, file := range sorted(pages) {
		if !listed(file) {
			faults = append(faults, fmt.Errorf("%s is not in the navigation of internal/site", file))
		}
	}
	return faults
}
