package opencode

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/internal/configfile"
	"bellhop/protocol"
)

//go:embed configuration/*.json
var templates embed.FS

// OpenCode's actions of a permission.
const (
	actionAsk  = "ask"
	actionDeny = "deny"
)

// object is a JSON object.
type object = map[string]any

// configuration is the program's opencode.json with settings derived from it.
type configuration struct {
	file      object
	model     *model // nil: the program chooses
	operators bool   // it contains an operator's file
}

// model is a model in OpenCode's notation.
type model struct {
	Provider string `json:"providerID"`
	ID       string `json:"modelID"`
}

// parseModel parses "provider/model". For "" it returns nil.
func parseModel(name string) (*model, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		return nil, nil
	}
	provider, id, ok := strings.Cut(name, "/")
	if !ok || provider == "" || id == "" {
		return nil, &protocol.Error{
			Code:    protocol.CodeInvalid,
			Message: fmt.Sprintf("OpenCode has no model %q", name),
			Hint:    "Name it provider/model, such as anthropic/claude-sonnet-4-5",
		}
	}
	return &model{Provider: provider, ID: id}, nil
}

// access describes how to reach a vendor's models.
type access struct {
	provider string // OpenCode's name of the vendor
	key      string // variable with the key
	base     string // variable with the address of the endpoint
	tail     string // suffix that OpenCode needs after that address
	npm      string // the package for a custom endpoint
	own      bool   // exists only for a custom endpoint
}

// accesses lists the vendors whose variables are supported. The address has the
// form that the vendors' own tools use: Anthropic's without /v1, OpenAI's with it.
// "openai" uses the Responses interface, "openai-compatible" uses chat completions,
// which most other servers support.
var accesses = []access{
	{provider: "anthropic", key: "ANTHROPIC_API_KEY", base: "ANTHROPIC_BASE_URL", tail: "/v1", npm: "@ai-sdk/anthropic"},
	{provider: "openai", key: "OPENAI_API_KEY", base: "OPENAI_BASE_URL", npm: "@ai-sdk/openai"},
	{
		provider: "openai-compatible", key: "OPENAI_API_KEY", base: "OPENAI_BASE_URL",
		npm: "@ai-sdk/openai-compatible", own: true,
	},
}

// configure creates the configuration of a session.
func configure(options Options, spec agenthost.AgentSpec, env []string) (*configuration, error) {
	c := &configuration{file: object{}}
	var err error
	if c.model, err = parseModel(spec.Model); err != nil {
		return nil, err
	}
	if err := c.add("base", nil); err != nil {
		return nil, err
	}
	if err := c.addAccess(env); err != nil {
		return nil, err
	}
	if err := c.addOperators(options.Config); err != nil {
		return nil, err
	}
	if err := c.restrict(); err != nil {
		return nil, err
	}
	// Set after the operator's file is merged, which can therefore change neither
	// updates, sharing nor the host's own server.
	c.file["autoupdate"], c.file["share"] = false, "disabled"
	c.addMemory(spec.Dir)
	if spec.Local != nil {
		return c, c.add("mcp", map[string]string{"MCP_URL": spec.Local.MCPURL, "MCP_SECRET": spec.Local.Secret})
	}
	return c, nil
}

// add merges a template into the file.
func (c *configuration) add(name string, values map[string]string) error {
	template, err := templates.ReadFile("configuration/" + name + ".json")
	if err != nil {
		return err
	}
	text, err := configfile.Expand(string(template), values, configfile.JSON)
	if err != nil {
		return fmt.Errorf("configuration %s: %w", name, err)
	}
	var more object
	if err := json.Unmarshal([]byte(text), &more); err != nil {
		return fmt.Errorf("configuration %s: %w", name, err)
	}
	merge(c.file, more)
	return nil
}

func (c *configuration) addAccess(env []string) error {
	for _, a := range accesses {
		base := strings.TrimRight(stdio.Lookup(env, a.base), "/")
		if stdio.Lookup(env, a.key) == "" || a.own && base == "" {
			continue
		}
		values := map[string]string{
			"PROVIDER": a.provider, "KEY_VARIABLE": a.key, "PACKAGE": a.npm, "BASE_URL": base + a.tail,
		}
		if err := c.add("provider", values); err != nil {
			return err
		}
		if base == "" {
			continue
		}
		if err := c.add("endpoint", values); err != nil {
			return err
		}
		if c.model != nil && c.model.Provider == a.provider {
			// The endpoint may not have the vendor's small model.
			c.file["small_model"] = a.provider + "/" + c.model.ID
		}
	}
	if c.model == nil {
		return nil
	}
	return c.add("model", map[string]string{"PROVIDER": c.model.Provider, "MODEL": c.model.ID})
}

// addOperators merges an operator's file.
func (c *configuration) addOperators(path string) error {
	if path == "" {
		return nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("OpenCode configuration: %w", err)
	}
	var more object
	if err := json.Unmarshal(content, &more); err != nil {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("%s is no OpenCode configuration: %v", path, err),
			Hint: "It must be plain JSON, without comments", Err: err,
		}
	}
	c.operators = true
	if permission, ok := more["permission"]; ok {
		more["permission"] = tighten(permission)
		if action, isText := more["permission"].(string); isText {
			more["permission"] = object{"*": action}
		}
	}
	own := c.file["model"]
	merge(c.file, more)
	if own != nil { // the session has its own choice
		c.file["model"] = own
	}
	return nil
}

// restrict enables only the configured providers. Without it OpenCode would send
// code to its own providers.
func (c *configuration) restrict() error {
	if _, chosen := c.file["enabled_providers"]; chosen {
		return nil
	}
	providers, _ := c.file["provider"].(object)
	reachable := 0
	for _, p := range providers {
		if settings, ok := p.(object); ok && settings["options"] != nil {
			reachable++
		}
	}
	if reachable == 0 && !c.operators {
		return &protocol.Error{
			Code:    protocol.CodeInvalid,
			Message: "OpenCode has no access to any model",
			Hint:    "Give the host ANTHROPIC_API_KEY or OPENAI_API_KEY, or an OpenCode configuration that has a provider",
		}
	}
	if len(providers) > 0 {
		c.file["enabled_providers"] = slices.Sorted(maps.Keys(providers))
	}
	return nil
}

// write writes the file into the session's state directory and returns its path.
func (c *configuration) write(stateDir string) (string, error) {
	text, err := json.MarshalIndent(c.file, "", "  ")
	if err != nil {
		return "", err
	}
	const name = "opencode/opencode.json"
	if err := configfile.Write(stateDir, name, "${FILE}", map[string]string{"FILE": string(text) + "\n"}, nil); err != nil {
		return "", fmt.Errorf("OpenCode configuration: %w", err)
	}
	return filepath.Join(stateDir, name), nil
}

// environment returns the program's environment.
func (c *configuration) environment(base []string, stateDir, file, password string) ([]string, error) {
	env := slices.Clone(base)
	if permission, ok := c.file["permission"].(object); ok { // OpenCode reads nothing else from this variable
		encoded, err := json.Marshal(permission)
		if err != nil {
			return nil, err
		}
		env = append(env, "OPENCODE_PERMISSION="+string(encoded)) // a repository's own file cannot weaken it
	}
	return append(env,
		"HOME="+stateDir,
		"XDG_CONFIG_HOME="+filepath.Join(stateDir, ".config"),
		"XDG_DATA_HOME="+filepath.Join(stateDir, ".local", "share"),
		"XDG_STATE_HOME="+filepath.Join(stateDir, ".local", "state"),
		"XDG_CACHE_HOME="+filepath.Join(stateDir, ".cache"),
		"OPENCODE_CONFIG="+file,
		"OPENCODE_SERVER_PASSWORD="+password,
		// A repository's configuration could send the keys to another address and
		// start programs.
		"OPENCODE_DISABLE_PROJECT_CONFIG=1",
		"OPENCODE_DISABLE_MODELS_FETCH=1",
		"OPENCODE_DISABLE_AUTOUPDATE=1",
		"OPENCODE_DISABLE_LSP_DOWNLOAD=1",
		// No other setting prevents OpenCode from installing a plug-in in the
		// background.
		"npm_config_registry=http://127.0.0.1:9",
	), nil
}

// tighten returns an operator's permissions without those that allow something:
// OpenCode then asks, and the host's policy answers.
func tighten(permission any) any {
	switch value := permission.(type) {
	case object:
		for name, inner := range value {
			value[name] = tighten(inner)
		}
		return value
	case string:
		if value == actionDeny {
			return value
		}
	}
	return actionAsk
}

// rules require a question for every tool, whatever OpenCode's own agents may do
// without asking, and keep what an operator denies. A session's rules have precedence,
// and the last one that matches counts.
func (c *configuration) rules() []rule {
	rules := []rule{{"*", "*", actionAsk}}
	permission, _ := c.file["permission"].(object)
	for _, tool := range slices.Sorted(maps.Keys(permission)) {
		patterns, ok := permission[tool].(object)
		if !ok {
			patterns = object{"*": permission[tool]}
		}
		for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
			if patterns[pattern] == actionDeny {
				rules = append(rules, rule{tool, pattern, actionDeny})
			}
		}
	}
	return rules
}

// merge copies more into the first object. Nested objects are merged member by
// member.
func merge(into, more object) {
	for name, value := range more {
		inner, isObject := value.(object)
		if known, ok := into[name].(object); ok && isObject {
			merge(known, inner)
			continue
		}
		into[name] = value
	}
}
