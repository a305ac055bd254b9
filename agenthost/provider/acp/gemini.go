package acp

import (
	"cmp"
	"context"
	_ "embed"
	"slices"

	"bellhop/agenthost"
	"bellhop/internal/configfile"
)

var (
	//go:embed gemini.json
	geminiTemplate string
	//go:embed gemini.toml
	geminiPolicy string
)

// geminiModel makes Gemini CLI choose the model itself.
const geminiModel = "auto"

// Gemini creates a provider of Gemini CLI. Options.Command returns the program's files,
// Node.js first; Gemini adds --acp. GEMINI_API_KEY must be in Options.Env or in the
// session's variables. For another API address, so must GOOGLE_GEMINI_BASE_URL.
func Gemini(options Options) *Provider {
	options.Name = cmp.Or(options.Name, "gemini")
	command, prepare := options.Command, options.Prepare
	if command != nil {
		options.Command = func(ctx context.Context) ([]string, error) {
			args, err := command(ctx)
			if err != nil || slices.Contains(args, "--acp") {
				return args, err
			}
			return append(slices.Clone(args), "--acp"), nil
		}
	}
	options.TitleIsCommand = true
	options.Env = append([]string{"GEMINI_CLI_NO_RELAUNCH=true"}, options.Env...)
	options.Prepare = func(spec agenthost.AgentSpec) error {
		variables := map[string]string{"MODEL": cmp.Or(spec.Model, geminiModel)}
		if err := configfile.Write(spec.StateDir, ".gemini/settings.json", geminiTemplate, variables, configfile.JSON); err != nil {
			return err
		}
		if err := configfile.Write(spec.StateDir, ".gemini/policies/bellhop.toml", geminiPolicy, nil, nil); err != nil {
			return err
		}
		if err := writeTrust(spec); err != nil {
			return err
		}
		if prepare != nil {
			return prepare(spec)
		}
		return nil
	}
	return New(options)
}
