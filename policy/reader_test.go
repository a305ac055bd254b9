package policy

import (
	"strings"
	"testing"
)

func TestAFileIsReadStrictly(t *testing.T) {
	t.Parallel()
	many := "version: 1\nrules:\n" + strings.Repeat("  - {tool: 'other:x', action: deny}\n", maxRules+1)
	for name, c := range map[string]struct{ file, want string }{
		"an unknown key": {
			"version: 1\nrulez: []\n", `p.yaml: line 2: a policy has no "rulez"; known are extends, rules, timeout, version`,
		},
		"an unknown key of a rule": {
			"version: 1\nrules:\n  - tool: other:x\n    act: allow\n",
			`p.yaml: line 4: a rule has no "act"; known are action, agent, args, command, destructive, host, level, message, name, on_timeout, path, project, timeout, tool, where`,
		},
		"a repeated key": {
			"version: 1\nrules:\n  - {tool: 'other:x', action: deny,\n     action: allow}\n",
			`p.yaml: line 4: "action" is repeated`,
		},
		"no version":                {"rules: []\n", `p.yaml: line 1: a policy begins with "version: 1"`},
		"another version":           {"version: 2\n", `p.yaml: line 1: version must be 1`},
		"a list":                    {"- a\n", `p.yaml: line 1: a policy must be a mapping`},
		"rules that are no list":    {"version: 1\nrules: {}\n", `p.yaml: line 2: rules must be a list of at most 2000`},
		"too many rules":            {many, `p.yaml: line 3: rules must be a list of at most 2000`},
		"a rule that is no mapping": {"version: 1\nrules: [x]\n", `p.yaml: line 2: a rule must be a mapping`},
		"no tool": {
			"version: 1\nrules:\n  - {action: deny}\n", `p.yaml: line 3: a rule needs a tool; "*" matches every tool`,
		},
		"an unknown tool": {
			"version: 1\nrules:\n  - {tool: shel:run, action: deny}\n",
			`p.yaml: line 3: there is no tool "shel:run"; did you mean "shell:run"? A tool that is not in the table is "other:" and its name`,
		},
		"an unknown family": {
			"version: 1\nrules:\n  - {tool: 'files:*', action: deny}\n",
			`p.yaml: line 3: there is no tool "files:*"; did you mean "file:read"? A tool that is not in the table is "other:" and its name`,
		},
		"no action": {
			"version: 1\nrules:\n  - {tool: Bash}\n", `p.yaml: line 3: a rule needs an action: allow, confirm or deny`,
		},
		"an unknown action": {
			"version: 1\nrules:\n  - {tool: 'other:x', action: ask}\n",
			`p.yaml: line 3: action must be allow or confirm or deny`,
		},
		"an unknown level": {
			"version: 1\nrules:\n  - {tool: 'other:x', action: deny, level: warn}\n",
			`p.yaml: line 3: level must be INFO or WARN or CRITICAL`,
		},
		"an allowed CRITICAL": {
			"version: 1\nrules:\n  - {tool: 'other:x', action: allow, level: CRITICAL}\n",
			`p.yaml: line 3: a CRITICAL rule must not allow: use another level or action`,
		},
		"a timeout without a question": {
			"version: 1\nrules:\n  - {tool: 'other:x', action: deny, timeout: 1m}\n",
			`p.yaml: line 3: only a rule that asks (action: confirm) has a timeout`,
		},
		"a timeout without a unit": {
			"version: 1\nrules:\n  - {tool: 'other:x', action: confirm, timeout: 5}\n",
			`p.yaml: line 3: timeout must be a duration from 1s to 168h, such as 90s or 10m`,
		},
		"another outcome": {
			"version: 1\nrules:\n  - {tool: 'other:x', action: confirm, on_timeout: allow}\n",
			`p.yaml: line 3: on_timeout must be deny`,
		},
		"a name twice": {
			"version: 1\nrules:\n  - {name: a, tool: 'other:x', action: deny}\n  - {name: a, tool: 'other:y', action: deny}\n",
			`p.yaml: line 4: there are two rules "a"`,
		},
		"a built-in name": {
			"version: 1\nrules:\n  - {name: default/a, tool: 'other:x', action: deny}\n",
			`p.yaml: line 3: names that begin with "default/" are reserved for the built-in rules`,
		},
		"an empty list": {
			"version: 1\nrules:\n  - {tool: [], action: deny}\n", `p.yaml: line 3: an empty list matches nothing`,
		},
		"an empty pattern": {
			"version: 1\nrules:\n  - {tool: '', action: deny}\n", `p.yaml: line 3: must be a text of at most 1000 characters`,
		},
		"an alias": {
			"version: 1\nrules:\n  - &a {tool: 'other:x', action: deny}\n  - *a\n", `p.yaml: line 4: a rule must be a mapping`,
		},
		"too many alternatives": {
			"version: 1\nrules:\n  - {tool: '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}', action: deny}\n",
			`p.yaml: line 3: the braces expand to more than 256 patterns`,
		},
		"args without names": {
			"version: 1\nrules:\n  - {tool: 'other:x', args: y, action: deny}\n",
			`p.yaml: line 3: args must map names of arguments to patterns`,
		},
		"no YAML":           {"version: 1\n\tx: y\n", `p.yaml: line 2: found a tab character that violates indentation`},
		"a second document": {"version: 1\n---\nversion: 1\n", `p.yaml: line 2: a second document begins here`},
		"a missing comma": {
			"version: 1\nrules:\n  - {tool: '*', action: deny, command: make * host: x}\n",
			`p.yaml: line 3: did not find expected ',' or '}'`,
		},
		"repeated arguments": {
			"version: 1\nrules:\n  - {tool: 'other:x', action: deny, args: {a: b, 'a': c}}\n",
			`p.yaml: line 3: "a" is repeated`,
		},
		"a merge": {
			"version: 1\nrules:\n  - {tool: 'other:x', action: deny, <<: {}}\n",
			`p.yaml: line 3: a rule has no "<<"; known are action, agent, args, command, destructive, host, level, message, name, on_timeout, path, project, timeout, tool, where`,
		},
		"a file too long": {strings.Repeat("#\n", maxFile/2+1), `p.yaml: is longer than 1048576 bytes`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.file), "p.yaml", Options{})
			if err == nil || err.Error() != c.want {
				t.Errorf("error: %v\nwant:  %s", err, c.want)
			}
		})
	}
	for name, file := range map[string]string{
		"empty": "", "comments": "# nothing\n",
		"no rules": "version: 1\n", "an empty list of rules": "version: 1\nrules: []\n",
	} {
		if e, err := Parse([]byte(file), "p.yaml", Options{}); err != nil || e.Rules() != Default(Options{}).Rules() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestToolNames(t *testing.T) {
	t.Parallel()
	for name, aliases := range map[string]string{
		FileRead: "Read read_file list_dir search", FileWrite: "Write Edit apply_patch write_file edit_file",
		ShellRun: "Bash bash run_command exec_command shell", NetFetch: "WebFetch",
		"mcp:docs/find_it": "mcp__docs__find_it", "other:Nothing": "Nothing", "mcp:a/b": "mcp:a/b",
	} {
		for alias := range strings.FieldsSeq(aliases) {
			if got := Default(Options{}).CommonTool("any", alias); got != name {
				t.Errorf("%s is %s, want %s", alias, got, name)
			}
		}
	}
	own := Options{ToolNames: map[string]map[string]string{"coder": {"external_directory": FileRead, "Bash": UserAsk}}}
	for _, c := range []struct{ agent, tool, want string }{
		{"coder", "external_directory", FileRead},
		{"coder", "Bash", UserAsk},
		{"coder", "Read", FileRead},
		{"other", "external_directory", "other:external_directory"},
		{"other", "Bash", ShellRun},
	} {
		if got := Default(own).CommonTool(c.agent, c.tool); got != c.want {
			t.Errorf("%s of %s is %s, want %s", c.tool, c.agent, got, c.want)
		}
	}
}
