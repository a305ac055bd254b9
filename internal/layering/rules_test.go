package layering

import (
	"path"
	"slices"
	"strings"
)

// layer is the role of a package; mayImport decides which layers it may import.
type layer string

const (
	words  layer = "words"  // the types of the wire protocol
	leaf   layer = "leaf"   // a library that imports no domain
	client layer = "client" // a program that a third party could write
	core   layer = "core"   // pure decisions of one domain; imports only words and pure leaves
	// A part belongs to one domain and does not know it. It imports words, leaves and the domain's core.
	part   layer = "part"
	domain layer = "domain" // types, rules, use cases
	shared layer = "shared" // code that several edges of one domain share
	edge   layer = "edge"   // one input or output of a domain
	app    layer = "app"    // assembles a broker or a host
	cmd    layer = "cmd"    // flags and environment
	kit    layer = "kit"    // for tests only
)

// rules are tried in order; the first pattern that matches decides. "*" matches one
// element of a path, a trailing "/**" any number of them, including none.
var rules = []struct {
	pattern string
	layer   layer
	// of an edge or shared layer: the only domain it may import; of a core or a part: the only domain that may
	// import it
	domain string
}{
	{pattern: "internal/testenv/faultproxy", layer: leaf}, // the proxy itself; "bellhop torture" uses it too
	{pattern: "internal/testenv/**", layer: kit},
	{pattern: "internal/doccheck", layer: kit},
	{pattern: "internal/explore", layer: kit}, // drives the cores of host and broker against each other
	{pattern: "internal/e2e/**", layer: kit},
	{pattern: "internal/bench", layer: app},
	{pattern: "internal/site/build", layer: cmd},
	{pattern: "internal/layering", layer: kit},
	{pattern: "internal/torture/check", layer: words}, // the checker imports nothing of ours, not even the protocol

	{pattern: "cmd/**", layer: cmd},
	{pattern: "deploy/**", layer: client}, // examples
	{pattern: "examples/**", layer: client},
	{pattern: "internal/app/**", layer: app},

	{pattern: "protocol", layer: words},
	{pattern: "policy/**", layer: leaf},
	{pattern: "crypto/*", layer: leaf},
	{pattern: "migrations", layer: leaf},
	{pattern: "openapi", layer: leaf},
	{pattern: "web", layer: leaf},
	{pattern: "conformance", layer: leaf}, // uses only the protocol
	{pattern: "internal/*", layer: leaf},
	{pattern: "client/**", layer: client},

	{pattern: "broker", layer: domain},
	{pattern: "notebook", layer: domain},
	{pattern: "agenthost", layer: domain},
	{pattern: "agent", layer: domain},
	{pattern: "webhook/outbound", layer: domain},

	{pattern: "broker/sequencer", layer: core, domain: "broker"},
	{pattern: "broker/*/**", layer: edge, domain: "broker"},
	{pattern: "webhook/inbound/**", layer: edge, domain: "broker"},
	{pattern: "notebook/*/**", layer: edge, domain: "notebook"},
	{pattern: "agenthost/core", layer: core, domain: "agenthost"},
	{pattern: "agenthost/access", layer: part, domain: "agenthost"},
	{pattern: "agenthost/activity", layer: part, domain: "agenthost"},
	{pattern: "agenthost/delivery", layer: part, domain: "agenthost"},
	{pattern: "agenthost/recall", layer: part, domain: "agenthost"},
	{pattern: "agenthost/targets", layer: part, domain: "agenthost"},
	{pattern: "agenthost/stream", layer: part, domain: "agenthost"},
	{pattern: "agenthost/headless", layer: part, domain: "agenthost"},
	{pattern: "agenthost/recording", layer: part, domain: "agenthost"},
	{pattern: "agenthost/terminal", layer: part, domain: "agenthost"},
	{pattern: "agenthost/usershell", layer: part, domain: "agenthost"},
	{pattern: "agenthost/provider/stdio", layer: shared, domain: "agenthost"},
	{pattern: "agenthost/provider/*/**", layer: edge, domain: "agenthost"},
	{pattern: "agenthost/*/**", layer: edge, domain: "agenthost"},
	{pattern: "agent/*/**", layer: edge, domain: "agent"},
	{pattern: "webhook/outbound/*/**", layer: edge, domain: "webhook/outbound"},
}

// clientLeaves are the only leaves that a client may import. A third party could
// import only the protocol, so these are exceptions.
var clientLeaves = []string{"internal/sse"}

// coreLeaves are the only leaves that a core may import: they decide, and act in no way.
var coreLeaves = []string{"policy"}

// pkg is a package with its layer.
type pkg struct {
	path   string
	layer  layer
	domain string
	edge   string // directory of the edge that the package belongs to; "" = no edge
}

// classify returns the layer of a package path below the module, or false without a
// rule.
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

// isTestKit reports whether the path is a test kit, such as storetest, or below one.
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

// mayImport decides whether production code of one package may import another. Tests
// may import every package.
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
	case core:
		return slices.Contains(coreLeaves, to.path)
	case part:
		return to.layer == leaf || to.layer == core && to.domain == from.domain
	case domain:
		return to.layer == leaf || (to.layer == core || to.layer == part) && to.domain == from.path
	case shared:
		return to.layer == leaf || to.path == from.domain
	case edge:
		return to.layer == leaf || to.path == from.domain || (to.layer == shared && to.domain == from.domain) ||
			(to.layer == edge && to.edge == from.edge)
	case app:
		return true
	case cmd:
		return true
	default: // words
		return false
	}
}
