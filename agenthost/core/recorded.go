package core

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"time"

	"bellhop/protocol"
)

// Recorded is an input as a recorder keeps it. Applying the inputs of a session
// in order to New(id) gives its State again, apart from webhook addresses.
type Recorded struct {
	At    time.Time
	ID    string // the new id that the step derived its ids from; see Moment
	Held  Held
	Input Input
	// Error is why the input changed nothing; "" when it was applied.
	Error string
}

// recordedForm is the JSON of a Recorded.
type recordedForm struct {
	At    time.Time       `json:"at"`
	ID    string          `json:"id"`
	Held  *Held           `json:"held,omitempty"`
	Kind  string          `json:"kind"`
	Input json.RawMessage `json:"input"`
	Error string          `json:"error,omitempty"`
}

// Moment returns the second argument of Apply: the time, the new id and the held text.
func (r *Recorded) Moment() Moment { return Moment{Time: r.At, ID: r.ID, Held: r.Held} }

// MarshalJSON writes the input with its kind. The query of webhook addresses,
// which carries their token, and the workspace's secret are left out.
func (r Recorded) MarshalJSON() ([]byte, error) {
	input, err := protocol.Marshal(withoutSecrets(r.Input))
	if err != nil {
		return nil, err
	}
	form := recordedForm{At: r.At, ID: r.ID, Kind: Kind(r.Input), Input: input, Error: r.Error}
	if r.Held != (Held{}) {
		form.Held = &r.Held
	}
	return protocol.Marshal(&form)
}

// UnmarshalJSON refuses an unknown kind.
func (r *Recorded) UnmarshalJSON(data []byte) error {
	var form recordedForm
	if err := json.Unmarshal(data, &form); err != nil {
		return err
	}
	kind, ok := kinds[form.Kind]
	if !ok {
		return fmt.Errorf("unknown kind of input %q", form.Kind)
	}
	input := reflect.New(kind)
	if err := json.Unmarshal(form.Input, input.Interface()); err != nil {
		return fmt.Errorf("input of kind %s: %w", form.Kind, err)
	}
	*r = Recorded{At: form.At, ID: form.ID, Error: form.Error, Input: input.Elem().Interface().(Input)}
	if answered, ok := r.Input.(Answered); ok {
		answered.Raw = RawAnswer(&answered.Request)
		r.Input = answered
	}
	if form.Held != nil {
		r.Held = *form.Held
	}
	return nil
}

// Kind is the name of an input's type.
func Kind(in Input) string { return reflect.TypeOf(in).Name() }

// kinds are the types of inputs by name.
var kinds = func() map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for _, in := range []Input{
		Opened{},
		HeadlessOpened{},
		KeyReleased{},
		TokensRevoked{},
		WorkspaceUsed{},
		Recovered{},
		Deleted{},
		Prompted{},
		QueueAdvanced{},
		QueueDropped{},
		AnnouncementExpired{},
		AgentStarted{},
		AgentEnded{},
		Interrupted{},
		StepFailed{},
		AgentText{},
		AgentTextEnded{},
		AgentReasoningEnded{},
		AgentCalled{},
		AgentResulted{},
		AgentAsked{},
		AgentNoticed{},
		AgentReminded{},
		AgentNamed{},
		AgentChecking{},
		Answered{},
		QuestionExpired{},
		QuestionCancelled{},
		DeliveryAccepted{},
		DeliveryRefused{},
		DeliveryFailed{},
		TokenRenewed{},
		RenewalRefused{},
		IncarnationSeen{},
		RenewalDue{},
		PositionSaved{},
		PendingCounted{},
		PendingRead{},
		HookReported{},
		TerminalAttached{},
		TerminalWorked{},
		Idled{},
	} {
		all[Kind(in)] = reflect.TypeOf(in)
	}
	return all
}()

func withoutSecrets(in Input) Input {
	switch in := in.(type) {
	case Opened:
		in.Request.WebhookURL = withoutQuery(in.Request.WebhookURL)
		return in
	case TokenRenewed:
		in.URL = withoutQuery(in.URL)
		return in
	case Recovered:
		in.Loaded.Session.WebhookURL, in.Loaded.Session.Secret = withoutQuery(in.Loaded.Session.WebhookURL), ""
		return in
	case WorkspaceUsed:
		in.Secret = ""
		return in
	}
	return in
}

func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.RawQuery, u.User = "", nil
	return u.String()
}
