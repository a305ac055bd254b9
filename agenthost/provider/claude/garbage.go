package claude

import "fmt"

// noticed is how many unusable lines of a turn are shown one by one; the rest
// is counted.
const noticed = 3

// garbage counts what cannot be used. What it says is not for the log.
type garbage int

func (g *garbage) skip(t *turn, what string) {
	*g++
	if *g <= noticed {
		t.agent.spec.Log.Warn("agent sent an unusable line", "agent", t.agent.options.Name)
		t.out.Notice("warning", "The agent sent "+what)
	}
}

func (g *garbage) report(t *turn) {
	if more := int(*g) - noticed; more > 0 {
		t.agent.spec.Log.Warn("agent sent more unusable lines", "agent", t.agent.options.Name, "count", more)
		t.out.Notice("warning", fmt.Sprintf("The agent sent %d further unusable lines", more))
	}
}
