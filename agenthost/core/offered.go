package core

import (
	"strconv"
	"strings"

	"bellhop/protocol"
)

// takes reports whether the agent takes a yes, or a no, for only the call.
func (o *Offered) takes(yes bool) bool {
	switch {
	case o == nil:
		return true
	case yes:
		return o.Yes
	}
	return o.No
}

// pick returns the answer that a person picked by its name, and its number from 1. It returns 0 if the text names none.
func (o *Offered) pick(text string) (Lasting, int) {
	if o != nil {
		for i, l := range o.Lasting {
			if l.Name == text {
				return l, i + 1
			}
		}
	}
	return Lasting{}, 0
}

// names lists the lasting answers for a person.
func (o *Offered) names() []string {
	var names []string
	for _, l := range o.Lasting {
		names = append(names, l.Name)
	}
	return names
}

// says what the agent takes, for the person who is asked or whose answer it does not take. It returns "" if the agent
// takes a yes and a no for only the call.
func (o *Offered) says() string {
	var lacks string
	switch {
	case o == nil || o.Yes && o.No:
		return ""
	case o.No:
		lacks = "yes"
	case o.Yes:
		lacks = "no"
	default:
		lacks = "yes and no no"
	}
	offer := "It offers no other answer"
	if names := o.names(); len(names) > 0 {
		for i := range names {
			names[i] = strconv.Quote(names[i])
		}
		offer = "It offers: " + strings.Join(names, ", ")
	}
	return "The agent takes no " + lacks + " for only this call. " + offer
}

// CheckAnswer returns CodeInvalid for an answer to an open confirm that the agent cannot be given.
func (q *InteractionRecord) CheckAnswer(req *protocol.AnswerRequest) error {
	if q.Kind != protocol.KindConfirm {
		return nil
	}
	_, picked := q.Offered.pick(req.Text)
	switch {
	case picked > 0:
		return nil
	case req.Approved == nil:
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "approved is required",
			Hint: "This is a permission: send approved true or false",
		}
	case !q.Offered.takes(*req.Approved):
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: q.Offered.says(),
			Hint: "Send the name of what the agent offers as text, or stop the turn",
		}
	}
	return nil
}

// withOffer returns a warning with what the agent takes.
func withOffer(warning string, o *Offered) string {
	return strings.TrimPrefix(strings.TrimSuffix(warning+"\n"+o.says(), "\n"), "\n")
}
