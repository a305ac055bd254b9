package check

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// SelfTest says how many damaged observations the checker reported.
type SelfTest struct {
	Kinds  int      `json:"kinds"` // kinds of damage that could be done
	Tried  int      `json:"tried"`
	Caught int      `json:"caught"`
	Missed []string `json:"missed"`
}

// triesPerKind is how often each kind of damage is done, each time at another place.
const triesPerKind = 3

// TestSelf damages an observation without violations in every known way, at places that follow
// from the seed, and counts what the checker reports. The observation is not changed.
func TestSelf(o *Observation, seed uint64) SelfTest {
	var result SelfTest
	for i, m := range mutations {
		done := 0
		for try := range triesPerKind {
			rng := rand.New(rand.NewPCG(seed, uint64(i*triesPerKind+try))) //nolint:gosec // small
			damaged := m.anywhere(o, rng)
			if damaged == nil {
				continue
			}
			done++
			if len(Run(&Observation{Sessions: []*Session{damaged}})) == 0 {
				result.Missed = append(result.Missed, fmt.Sprintf("%s, in session %s", m.name, damaged.ID))
			} else {
				result.Caught++
			}
		}
		if result.Tried += done; done > 0 {
			result.Kinds++
		}
	}
	return result
}

// anywhere returns a damaged copy of a random session, nil if none has what can be damaged.
func (m mutation) anywhere(o *Observation, rng *rand.Rand) *Session {
	for _, i := range rng.Perm(len(o.Sessions)) {
		s := clone(o.Sessions[i])
		if m.damage(&editor{Session: s, rng: rng}) {
			return s
		}
	}
	return nil
}

// clone copies a session by its JSON form, which is complete.
func clone(s *Session) *Session {
	content, err := json.Marshal(s)
	if err != nil {
		panic(err) // an observation has only strings and numbers
	}
	var out Session
	if err := json.Unmarshal(content, &out); err != nil {
		panic(err)
	}
	return &out
}
