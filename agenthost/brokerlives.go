package agenthost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"bellhop/internal/replacefile"
	"bellhop/internal/wait"
	"bellhop/protocol"
)

// brokerLives decides which life of a broker's database the host obeys. Brokers on two copies of a database have the
// same name, session keys and passwords. The one at the address that the sessions' events go to counts; requests of the
// other one are refused, so that it ends, moves and revokes nothing.
type brokerLives struct {
	h    *Host
	path string // of the file with accepted lives; "" = they are not kept

	guard   sync.Mutex
	brokers map[string]*brokerLife // by brokerId
}

// brokerLife is what the host knows of the lives of one broker's database.
type brokerLife struct {
	asking chan struct{} // holds one token while the broker is asked

	mu       sync.Mutex
	accepted string
	former   string    // accepted before it
	since    time.Time // when accepted was

	refused string // the life that was refused last, and where it runs
	place   string
	at      time.Time
	served  string // address of the one that is obeyed
	logged  time.Time
}

const (
	brokerLifeTimeout = 3 * time.Second
	// replicaLag is for how long replicas may name different lives after a database was started again. Each reads it
	// every second.
	replicaLag = 1500 * time.Millisecond
	formerLag  = 10 * time.Second
	// copyRefused is for how long the answer about a refused life serves.
	copyRefused = 2 * time.Second
	copyShown   = 40 * time.Second
	copyLogged  = time.Minute
)

var errNoBrokerLife = errors.New("something other than the broker answered")

// restoreLives reads the lives that were accepted before the host's start.
func (l *brokerLives) restoreLives(h *Host, path string) {
	l.h, l.path, l.brokers = h, path, map[string]*brokerLife{}
	kept := map[string]string{}
	if body, err := os.ReadFile(path); err == nil && json.Unmarshal(body, &kept) == nil {
		for broker, life := range kept {
			l.of(broker).accepted = life
		}
	}
}

func (l *brokerLives) of(brokerID string) *brokerLife {
	l.guard.Lock()
	defer l.guard.Unlock()
	b := l.brokers[brokerID]
	if b == nil {
		b = &brokerLife{asking: make(chan struct{}, 1)}
		l.brokers[brokerID] = b
	}
	return b
}

// CheckBroker returns nil if the host obeys a request of a broker's life. sessionID names the session that it is about;
// "" = none. CodeTwoCopies: another life serves at the address of the sessions' events. CodeUnavailable: that cannot be
// asked; a request with force, which an operator sends, is obeyed then.
func (l *brokerLives) CheckBroker(ctx context.Context, life protocol.Life, sessionID string, force bool) error {
	if life.IsZero() {
		return nil
	}
	b := l.of(life.Host)
	if b.isAccepted(life.ID) {
		return nil
	}
	address := l.addressOf(life.Host, sessionID)
	if address == "" { // no session of the broker is here that another life could lose
		l.accept(life.Host, b, life.ID)
		return nil
	}
	select { // many requests ask one question
	case b.asking <- struct{}{}:
		defer func() { <-b.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if b.isAccepted(life.ID) {
		return nil
	}
	if b.refusedNow(life.ID, l.h.opts.Now()) {
		return b.refusal(life)
	}
	serving, err := l.ask(ctx, address, life.Host)
	if err == nil && serving != life.ID && wait.For(ctx, replicaLag) {
		serving, err = l.ask(ctx, address, life.Host)
	}
	switch {
	case err != nil && force:
		l.accept(life.Host, b, life.ID)
		return nil
	case err != nil:
		return &protocol.Error{
			Code: protocol.CodeUnavailable, Message: "The broker could not be asked which copy of its database serves", RetryAfter: 5, Err: err,
			Hint: "Start the broker at the address that hosts send events to. If it has another one by now, run 'bellhop reconcile --all'",
		}
	}
	l.accept(life.Host, b, serving)
	switch {
	case serving == life.ID:
		return nil
	case b.isFormer(life.ID, l.h.opts.Now()):
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: "The broker's database was started again", RetryAfter: 1}
	}
	if b.refuse(life, origin(address), l.h.opts.Now()) {
		l.h.opts.Log.WarnContext(ctx, "two copies of broker "+life.Host, //nolint:sloglint // logs and doctor have these words in common
			"served", origin(address), "refused", life.Place)
		l.h.changed()
	}
	return b.refusal(life)
}

// SeenBroker accepts the life that the broker's own answer to a request names: it serves at the address of events.
func (l *brokerLives) SeenBroker(life protocol.Life) {
	if b := l.of(life.Host); !b.isAccepted(life.ID) {
		l.accept(life.Host, b, life.ID)
	}
}

func (b *brokerLife) isAccepted(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.accepted == id
}

func (b *brokerLife) isFormer(id string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.former == id && now.Before(b.since.Add(formerLag))
}

func (b *brokerLife) refusedNow(id string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused == id && now.Before(b.at.Add(copyRefused))
}

// refuse notes a refused life and reports whether that is to be logged.
func (b *brokerLife) refuse(life protocol.Life, served string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused, b.place, b.at, b.served = life.ID, life.Place, now, served
	if now.Before(b.logged.Add(copyLogged)) {
		return false
	}
	b.logged = now
	return true
}

func (b *brokerLife) refusal(life protocol.Life) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &protocol.Error{
		Code: protocol.CodeTwoCopies, Message: fmt.Sprintf("two copies of broker %s: the host obeys the one at %s", life.Host, b.served),
		Hint: "Brokers run on two copies of one database: end one of them",
	}
}

// notice returns what /status says of a refused life, "" if there is none.
func (b *brokerLife) notice(brokerID string, now time.Time) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refused == "" || !now.Before(b.at.Add(copyShown)) {
		return ""
	}
	return fmt.Sprintf("two copies of broker %s: the host obeys the one at %s, and not the one at %s", brokerID, b.served, b.place)
}

// copiesOfBrokers returns what /status says of refused lives.
func (l *brokerLives) copiesOfBrokers() []string {
	l.guard.Lock()
	defer l.guard.Unlock()
	var all []string
	for id, b := range l.brokers {
		if text := b.notice(id, l.h.opts.Now()); text != "" {
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return all
}

// accept makes a life the one that is obeyed, and keeps it for the host's next start.
func (l *brokerLives) accept(brokerID string, b *brokerLife, id string) {
	b.mu.Lock()
	changed := b.accepted != id
	if changed {
		b.former, b.accepted, b.since = b.accepted, id, l.h.opts.Now()
	}
	b.mu.Unlock()
	if !changed || l.path == "" {
		return
	}
	l.guard.Lock()
	defer l.guard.Unlock()
	kept := map[string]string{}
	for id, one := range l.brokers {
		one.mu.Lock()
		kept[id] = one.accepted
		one.mu.Unlock()
	}
	body, err := json.Marshal(kept)
	if err == nil {
		err = replacefile.Write(l.path, body, 0o600)
	}
	if err != nil { // the broker is asked after the next start
		l.h.opts.Log.Warn("the broker's life could not be kept", "broker", brokerID, "error", err)
	}
}

// addressOf returns the webhook address of a session of the broker, or else of the one of its sessions that worked last;
// "" if there is none.
func (l *brokerLives) addressOf(brokerID, sessionID string) (address string) {
	var newest time.Time
	for _, s := range l.h.all() {
		s.mu.Lock()
		rec := &s.state.Record
		of := rec.BrokerID == brokerID && rec.WebhookURL != "" && !s.state.Deleted
		at, found := rec.ActiveAt, rec.WebhookURL
		s.mu.Unlock()
		switch {
		case !of:
		case s.id == sessionID:
			return found
		case address == "" || at.After(newest):
			address, newest = found, at
		}
	}
	return address
}

// ask returns the life that serves at a webhook address. It posts no token, and so nothing but a refusal comes back.
func (l *brokerLives) ask(ctx context.Context, address, brokerID string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", errNoBrokerLife
	}
	u.Fragment = ""
	query := u.Query()
	query.Del("token")
	u.RawQuery = query.Encode()
	ctx, cancel := context.WithTimeout(ctx, brokerLifeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader([]byte("{}")))
	if err != nil {
		return "", errNoBrokerLife
	}
	name := protocol.NewID()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(protocol.HeaderRequest, name)
	resp, err := l.h.opts.Poster.Do(req)
	if err != nil {
		return "", errors.New("the broker cannot be reached") // the error of the request has its address
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	_ = resp.Body.Close()
	life := protocol.ParseLife(resp.Header.Get(protocol.HeaderLife))
	if resp.Header.Get(protocol.HeaderRequest) != name || resp.Header.Get(protocol.HeaderBroker) != brokerID ||
		life.Host != brokerID {
		return "", errNoBrokerLife
	}
	return life.ID, nil
}

// origin is where an address leads, without its token.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "?"
	}
	return strings.TrimSuffix(u.Scheme+"://"+u.Host+u.Path, "/api/agent/webhook")
}
