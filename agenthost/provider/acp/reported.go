package acp

import (
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"bellhop/protocol"
)

// reported holds the models and modes that the agent reported in its last session.
type reported struct {
	mu            sync.Mutex
	models, modes []protocol.Choice
	noImages      bool // the agent reported in its last session that it takes none
}

// Choices implements agenthost.Chooser. Before the first session both are empty.
func (p *Provider) Choices() (models, modes []protocol.Choice) {
	p.reported.mu.Lock()
	defer p.reported.mu.Unlock()
	return p.reported.models, p.reported.modes
}

// Attachments implements agenthost.Taker. Before the first session images count as taken: what an agent does not
// take is left out with a notice.
func (p *Provider) Attachments() []protocol.AttachmentKind {
	p.reported.mu.Lock()
	defer p.reported.mu.Unlock()
	if p.reported.noImages {
		return []protocol.AttachmentKind{protocol.KindText}
	}
	return []protocol.AttachmentKind{protocol.KindImage, protocol.KindText}
}

// takes remembers whether the agent takes images.
func (r *reported) takes(images bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noImages = !images
}

// update replaces the models and modes by those of a new session. A nil state changes nothing.
func (r *reported) update(models *sdk.SessionModelState, modes *sdk.SessionModeState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if models != nil {
		r.models = make([]protocol.Choice, 0, len(models.AvailableModels))
		for _, m := range models.AvailableModels {
			r.models = append(r.models, protocol.Choice{ID: string(m.ModelId), Name: m.Name})
		}
	}
	if modes != nil {
		r.modes = make([]protocol.Choice, 0, len(modes.AvailableModes))
		for _, m := range modes.AvailableModes {
			r.modes = append(r.modes, protocol.Choice{ID: string(m.Id), Name: m.Name})
		}
	}
}
