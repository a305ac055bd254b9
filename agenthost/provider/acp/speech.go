package acp

import "bellhop/agenthost"

// The kinds of a block.
const (
	silent = iota
	text
	reasoning
)

// speech ends the blocks that the protocol only begins: a block is over when
// another kind or another message begins, a tool is called or the turn ends.
type speech struct {
	out     agenthost.Output
	kind    int
	message string // id of the open block's message, "" if the agent has none
}

func (s *speech) add(kind int, message, delta string) error {
	if delta == "" {
		return nil
	}
	if s.kind != kind || s.message != message {
		if err := s.end(); err != nil {
			return err
		}
	}
	s.kind, s.message = kind, message
	if kind == reasoning {
		return s.out.Reasoning(delta)
	}
	return s.out.Text(delta)
}

func (s *speech) end() error {
	kind := s.kind
	s.kind, s.message = silent, ""
	switch kind {
	case text:
		return s.out.EndText("")
	case reasoning:
		return s.out.EndReasoning()
	}
	return nil
}
