package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"bellhop/protocol"
)

// demoKind is the kind of the agent that is a script.
const demoKind = "demo"

// agents looks at what a host offers. A host that answers with something else does not describe itself, such as a
// basic one.
func (p *Prober) agents(ctx context.Context, h Host, base string) []Finding {
	var offer protocol.HostOffer
	for _, r := range withPasswords(h, base+"/offer") {
		a, err := p.do(ctx, r)
		if err != nil {
			return []Finding{unreachable(CheckAgents, h.Name, err, "Its log names the reason.")}
		}
		if a.status == http.StatusUnauthorized {
			continue
		}
		if a.status != http.StatusOK || json.Unmarshal(a.body, &offer) != nil || offer.Agents == nil {
			return nil
		}
		return checkAgents(h, &offer)
	}
	return nil
}

func checkAgents(h Host, offer *protocol.HostOffer) []Finding {
	var found []Finding
	var usable []string
	for _, agent := range offer.Agents {
		isDefault := agent.ID == offer.DefaultAgent
		switch {
		case isDefault && !agent.Installed:
			problem := strings.TrimSuffix(strings.TrimSpace(agent.Problem), ".")
			found = append(found, Failed(CheckAgents, h.Name,
				fmt.Sprintf("Its default agent %s cannot run: %s.", agent.ID, problem),
				"Run `bellhop agents install "+agent.ID+"` there, or name another agent as `default` in its file."))
		case !agent.Installed || agent.Kind == demoKind || agent.ID == demoKind:
		case agent.HasKey != nil && !*agent.HasKey:
			found = append(found, Warn(CheckAgents, h.Name,
				fmt.Sprintf("Its agent %s has no key of a language model.", agent.ID),
				"Set the key's variable, such as ANTHROPIC_API_KEY, for the host, or sign the agent in as docs/agents.md says."))
		default:
			usable = append(usable, agent.ID)
		}
	}
	switch {
	case len(usable) > 0:
		found = append(found, Good(CheckAgents, h.Name, "It can run: "+strings.Join(usable, ", ")+"."))
	case len(found) == 0:
		found = append(found, Warn(CheckAgents, h.Name, "It has no agent but the demo, which is a script.",
			"Run `bellhop agents install` there, and set the key of the agent's language model."))
	}
	return found
}
