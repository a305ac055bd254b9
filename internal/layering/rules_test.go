package layering

import (
	"path"
	"slices"
	"strings"
)

// layer is what a package is for; mayImport says what that allows.
type layer string

const (
	words  layer = "words"  // what both servers and all clients say to each other
	leaf   layer = "leaf"   // knows no domain
	client layer = "client" // what a third party could have written
	domain layer = "domain" // types, rules, use cases
	edge   layer = "edge"   // one way into or out of a domain
	app    layer = "app"    // wires a broker or a host
	cmd    layer = "cmd"    // flags and environment
	kit    layer = "kit"    // for tests only
)

// rules are tried in order; the first pattern that matches decides. "*" is one
// element of a path, a trailing "/**" any number, none included.
var rules = []struct {
	pattern string
	layer   layer
	domain  string // of an edge: the only domain it may import
}{
	{pattern: "internal/testenv/**", layer: kit},
	{pattern: "internal/e2e/**", layer: kit},
	{pattern: "internal/bench/**", layer: kit},
	{pattern: "internal/layering", layer: kit},

	{pattern: "cmd/**", layer: cmd},
	{pattern: "deploy/**", layer: client}, // examples: what a third party could have written
	{pattern: "internal/app/**", layer: app},

	{pattern: "protocol", layer: words},
	{pattern: "policy/**", layer: leaf},
	{pattern: "crypto/*", layer: leaf},
	{pattern: "migrations", layer: leaf},
	{pattern: "web", layer: leaf},
	{pattern: "conformance", layer: leaf}, // of the protocol alone
	{pattern: "internal/*", layer: leaf},
	{pattern: "client/**", layer: client},

	{pattern: "broker", layer: domain},
	{pattern: "notebook", layer: domain},
	{pattern: "agenthost", layer: domain},
	{pattern: "agent", layer: domain},
	{pattern: "webhook/outbound", layer: domain},

	{pattern: "broker/*/**", layer: edge, domain: "broker"},
	{pattern: "webhook/inbound/**", layer: edge, domain: "broker"},
	{pattern: "notebook/*/**", layer: edge, domain: "notebook"},
	{pattern: "agenthost/provider/*/**", layer: edge, domain: "agenthost"},
	{pattern: "agenthost/*/**", layer: edge, domain: "agenthost"},
	{pattern: "agent/*/**", layer: edge, domain: "agent"},
	{pattern: "webhook/outbound/*/**", layer: edge, domain: "webhook/outbound"},
}

// clientLeaves narrows what a layer allows: a client stays what a third party could
// write, so of the leaves it may use the stream codec alone.
var clientLeaves = []string{"internal/sse"}

// pkg is a package seen through the rules.
type pkg struct {
	path   string
	layer  layer
	domain string
	edge   string // of an edge: the folder that is the edge, sub-packages included
}

// classify finds the rule for the path of a package below the module.
func classify(p string) (pkg, bool) {
	if isTestKit(p) {
		return pkg{path: p, layer: kit}, true
	}
	for _, r := range rules {
		if root, ok := match(r.pattern, p); ok {
			c := pkg{path: p, layer: r.layer, domain: r.domain}
			if r.layer == edge {
				c.edge = root
			}
			return c, true
		}
	}
	return pkg{}, false
}

// isTestKit knows storetest, providertest and what is below them.
func isTestKit(p string) bool {
	for element := range strings.SplitSeq(p, "/") {
		if strings.HasSuffix(element, "test") {
			return true
		}
	}
	return false
}

// match returns the part of p that the pattern names without "/**".
func match(pattern, p string) (root string, ok bool) {
	head, deep := strings.CutSuffix(pattern, "/**")
	elements := strings.Split(p, "/")
	n := strings.Count(head, "/") + 1
	if len(elements) < n || (!deep && len(elements) > n) {
		return "", false
	}
	root = strings.Join(elements[:n], "/")
	ok, err := path.Match(head, root)
	return root, ok && err == nil
}

// mayImport is the architecture. It holds for code that ships; tests may
// import what they need.
func mayImport(from, to pkg) bool {
	if from.layer == kit {
		return true
	}
	switch to.layer {
	case kit, cmd:
		return false
	case words:
		return true
	}
	switch from.layer {
	case leaf:
		return to.layer == leaf
	case client:
		return to.layer == client || slices.Contains(clientLeaves, to.path)
	case domain:
		return to.layer == leaf
	case edge:
		return to.layer == leaf || to.path == from.domain || (to.layer == edge && to.edge == from.edge)
	case app:
		return true
	case cmd:
		return true
	default: // words
		return false
	}
}
