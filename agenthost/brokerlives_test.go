package agenthost_test

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// serves makes a life the one at the address of events.
func (b *fakeBroker) serves(life protocol.Life) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.life = life
}

func (b *fakeBroker) questions() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}

// obeys compares what the host says to a request of a life.
func (r *rig) obeys(life protocol.Life, force bool, want protocol.Code) {
	r.Helper()
	if err := r.host.CheckBroker(r.Context(), life, "", force); protocol.CodeOf(err) != want {
		r.Errorf("%v, want %q", err, want)
	}
}

func brokerLife(place string) protocol.Life { return protocol.NewLife("broker-1", place) }

func TestWithoutASessionOfTheBrokerEveryLifeIsObeyed(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.obeys(brokerLife(""), false, "")
	r.obeys(brokerLife(""), false, "")
	r.obeys(protocol.Life{}, false, "")
	if r.broker.questions() != 0 {
		t.Error("asked")
	}
}

func TestTheLifeAtTheAddressOfEventsIsObeyed(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	original, copied := brokerLife("http://one"), brokerLife("http://two")
	r.broker.serves(original)
	r.turn("s1", "t1", writeText("one"))
	r.delivered()
	r.obeys(original, false, "") // the answers to events named it
	if r.broker.questions() != 0 {
		t.Error("asked although answers named the life")
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { r.obeys(copied, false, protocol.CodeTwoCopies) })
	}
	wg.Wait()
	if n := r.broker.questions(); n != 2 {
		t.Errorf("asked %d times", n)
	}
	r.obeys(copied, true, protocol.CodeTwoCopies)
	r.obeys(original, false, "")
	status, err := r.host.Status(t.Context())
	if err != nil || !strings.Contains(strings.Join(status.Notices, "\n"), "two copies of broker broker-1") ||
		!strings.Contains(strings.Join(status.Notices, "\n"), "http://two") {
		t.Errorf("notices %q, %v", status.Notices, err)
	}
	next := brokerLife("http://one")
	r.broker.serves(next)
	r.obeys(next, false, "")
	r.obeys(original, false, protocol.CodeUnavailable) // a replica that has not noticed yet
}

func TestWhileTheBrokerCannotBeAskedNoUnknownLifeIsObeyed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path := filepath.Join(r.dir, "lives.json")
	r.options = func(o *agenthost.Options) { o.BrokerLives = path }
	r.start()
	original, copied, later := brokerLife(""), brokerLife(""), brokerLife("")
	r.broker.serves(original)
	r.turn("s1", "t1", writeText("one"))
	r.delivered()
	data := r.crash()
	r.broker.refuseAll(true)
	r.open(data)
	r.run()
	r.obeys(original, false, "") // kept over the start
	r.obeys(copied, false, protocol.CodeUnavailable)
	r.obeys(copied, true, "")
	r.obeys(later, false, protocol.CodeUnavailable)
	r.broker.refuseAll(false)
	r.broker.serves(protocol.Life{}) // a proxy drops the header
	r.obeys(later, false, protocol.CodeUnavailable)
}
