package mockllm

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// call is a tool call of a response.
type call struct {
	tool
	args  object
	input string // only for custom tools
}

func (c *call) arguments() string { return encode(c.args) }

// find returns the first tool of the request with one of the names.
func (r *Request) find(names ...string) *tool {
	for _, name := range names {
		for i := range r.tools {
			if r.tools[i].name == name {
				return &r.tools[i]
			}
		}
	}
	return nil
}

// property returns the first of the names that the schema has.
func (t *tool) property(names ...string) string {
	properties := member(t.schema["properties"])
	for _, name := range names {
		if _, ok := properties[name]; ok {
			return name
		}
	}
	return names[0]
}

func (t *tool) has(property string) bool {
	_, ok := member(t.schema["properties"])[property]
	return ok
}

// absolute returns an absolute path for agents that need one and name their directory.
func (r *Request) absolute(path string) string {
	if dir := r.directory(); dir != "" && !filepath.IsAbs(path) {
		return filepath.Join(dir, path)
	}
	return path
}

func (r *Request) write(path, content string) *call {
	if t := r.find("Write", "write", "write_file"); t != nil {
		return &call{tool: *t, args: object{
			t.property("file_path", "filePath", "path", "absolute_path"): r.absolute(path), t.property("content"): content,
		}}
	}
	if t := r.find("apply_patch"); t != nil {
		var patch strings.Builder
		fmt.Fprintf(&patch, "*** Begin Patch\n*** Add File: %s\n", path)
		for line := range strings.SplitSeq(strings.TrimSuffix(content, "\n"), "\n") {
			patch.WriteString("+" + line + "\n")
		}
		patch.WriteString("*** End Patch\n")
		if t.kind == "custom" {
			return &call{tool: *t, input: patch.String()}
		}
		return &call{tool: *t, args: object{t.property("input", "patchText", "patch"): patch.String()}}
	}
	return r.shell(fmt.Sprintf("printf '%%s' %q > %s", content, path))
}

func (r *Request) edit(path, from, to string) *call {
	t := r.find("Edit", "edit", "edit_file", "replace")
	if t == nil {
		return r.shell(fmt.Sprintf("sed -i 's/%s/%s/' %s", from, to, path))
	}
	return &call{tool: *t, args: object{
		t.property("file_path", "filePath", "path", "absolute_path"): r.absolute(path),
		t.property("old_string", "oldString", "old_text"):            from,
		t.property("new_string", "newString", "new_text"):            to,
	}}
}

func (r *Request) read(path string) *call {
	t := r.find("Read", "read", "read_file")
	if t == nil {
		return r.shell("cat " + path)
	}
	return &call{tool: *t, args: object{t.property("file_path", "filePath", "absolute_path", "path"): r.absolute(path)}}
}

func (r *Request) shell(command string) *call {
	t := r.find("Bash", "bash", "run_command", "run_shell_command", "exec_command", "shell_command", "shell", "exec")
	if t == nil {
		return nil
	}
	if t.name == "exec" && t.kind == "custom" { // JavaScript that calls tools
		return &call{
			tool: *t, input: "const r = await tools.exec_command({cmd: " + encode(command) + "}); text(JSON.stringify(r));",
		}
	}
	args := object{}
	switch t.name {
	case "shell":
		args["command"] = []string{"bash", "-lc", command}
	case "exec_command":
		args[t.property("cmd", "command")] = command
	default:
		args[t.property("command", "cmd")] = command
	}
	if t.has("description") {
		args["description"] = "mock shell command"
	}
	return &call{tool: *t, args: args}
}

func (r *Request) ask() *call {
	t := r.find("AskUserQuestion", "question", "ask_user", "request_user_input")
	if t == nil {
		return nil
	}
	if t.has("question") {
		return &call{tool: *t, args: object{"question": "Which colour?"}}
	}
	question := object{
		"question": "Which colour?", "header": "Colour",
		"options": []object{{"label": "Red", "description": "a warm one"}, {"label": "Blue", "description": "a cold one"}},
	}
	switch t.name {
	case "AskUserQuestion":
		question["multiSelect"] = false
	case "question":
		question["multiple"] = false
	case "request_user_input":
		question["id"] = "q1"
	case "ask_user":
		question["multiSelect"], question["type"] = false, "choice"
	}
	return &call{tool: *t, args: object{"questions": []object{question}}}
}

func (r *Request) plan() *call {
	t := r.find("TodoWrite", "todowrite", "write_todos", "update_plan")
	if t == nil {
		return nil
	}
	list, what := "todos", "content"
	switch t.name {
	case "update_plan":
		list, what = "plan", "step"
	case "write_todos":
		what = "description"
	}
	items := []object{{what: "one", "status": "in_progress"}, {what: "two", "status": "pending"}}
	if what == "content" {
		for i, item := range items {
			item["activeForm"], item["priority"], item["id"] = "doing "+text(item[what]), "high", string(rune('1'+i))
		}
	}
	return &call{tool: *t, args: object{list: items}}
}

func (r *Request) delegate() *call {
	t := r.find("Task", "Agent", "task")
	if t == nil {
		return nil
	}
	args := object{"description": "sub task", "prompt": "Say hi", "subagent_type": "general-purpose"}
	if t.name == "task" {
		args["subagent_type"] = "general"
	}
	return &call{tool: *t, args: args}
}

// named returns a call of the tool named in the line. Arguments that are no JSON object become
// {}.
func (r *Request) named(line string) *call {
	name, raw, _ := strings.Cut(line, " ")
	t := r.find(name)
	if t == nil {
		return nil
	}
	args := object{}
	if err := json.Unmarshal([]byte(raw), &args); err != nil {
		args = object{}
	}
	return &call{tool: *t, args: args}
}
