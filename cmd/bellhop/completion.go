package main

import "fmt"

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help is shown by --help.
func (completionCommand) Help() string {
	return `Prints code that lets a shell complete commands and flags with the Tab key. The packages install it.

  source <(bellhop completion bash)
  source <(bellhop completion zsh)
  bellhop completion fish | source`
}

// completions ask the program itself: it completes the command line in the variable COMP_LINE.
var completions = map[string]string{
	"bash": "complete -o default -o bashdefault -C bellhop bellhop\n",
	"zsh": "#compdef bellhop\nautoload -U +X bashcompinit && bashcompinit\n" +
		"complete -o default -o bashdefault -C bellhop bellhop\n",
	"fish": `function __complete_bellhop
    set -lx COMP_LINE (commandline -cp)
    test -z (commandline -ct)
    and set COMP_LINE "$COMP_LINE "
    bellhop
end
complete -f -c bellhop -a "(__complete_bellhop)"
`,
}

// Run prints the code for a shell.
func (c completionCommand) Run(env *environment) error {
	_, err := fmt.Fprint(env.stdout, completions[c.Shell])
	return err
}
