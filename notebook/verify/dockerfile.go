package verify

import (
	"bytes"
	"errors"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

const dockerfileModule = "github.com/moby/buildkit"

// checkDockerfile runs the checks that precede a build: syntax, instructions and their
// arguments.
func checkDockerfile(code string) finding {
	found := finding{Tool: dockerfileModule, Version: moduleVersion(dockerfileModule)}
	parsed, err := parser.Parse(bytes.NewReader([]byte(code)))
	if err == nil {
		_, _, err = instructions.Parse(parsed.AST, nil)
	}
	if err == nil {
		return found
	}
	line := 0
	var at *parser.LocationError
	if errors.As(err, &at) && len(at.Locations) > 0 && len(at.Locations[0]) > 0 {
		line = at.Locations[0][0].Start.Line
	}
	column := 0
	if line > 0 {
		column = 1
	}
	found.Diagnostics = problem(line, column, strings.TrimSpace(err.Error()))
	return found
}
