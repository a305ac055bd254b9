// Package pushservice is a push service and its browsers for tests. It checks what a sender must send (RFC 8030),
// who it is (RFC 8292) and opens its messages (RFC 8291), with the standard library alone.
package pushservice

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Message is a request that the service took.
type Message struct {
	Plain   []byte // what the browser reads
	TTL     int
	Topic   string
	Urgency string
	Contact string // sub of the sender's token
}

// Service is a push service with one browser.
type Service struct {
	*httptest.Server
	P256dh, Auth string // keys of the browser
	Key          string // public key of the sender that subscribed the browser; "" accepts any

	now  func() time.Time
	key  *ecdh.PrivateKey
	auth []byte

	mu       sync.Mutex
	answers  []func(w http.ResponseWriter)
	messages []Message
	attempts int
	faults   []error
}

// Start starts a service on loopback. At the end the test fails if a request was malformed.
func Start(t testing.TB, now func() time.Time) *Service {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &Service{now: now, key: key, auth: make([]byte, 16)}
	_, _ = rand.Read(s.auth)
	s.P256dh = base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes())
	s.Auth = base64.RawURLEncoding.EncodeToString(s.auth)
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		for _, err := range s.faults {
			t.Errorf("push service: %v", err)
		}
	})
	return s
}

// Address is the endpoint of the browser's subscription.
func (s *Service) Address() string { return s.URL + "/push/a-capability-that-is-a-secret" }

// Answer lets the next request be answered by answer, which must write a status. Call it again for the request
// after that one. Later requests are accepted.
func (s *Service) Answer(answer func(w http.ResponseWriter)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, answer)
}

// Status is Answer with a status and, if it is not "", a Retry-After.
func (s *Service) Status(status int, retryAfter string) {
	s.Answer(func(w http.ResponseWriter) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
	})
}

// Messages returns the messages that the service took so far.
func (s *Service) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message(nil), s.messages...)
}

// Attempts counts all requests, with those that Answer refused.
func (s *Service) Attempts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attempts
}

func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	message, err := s.read(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts++
	if err != nil {
		s.faults = append(s.faults, err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if len(s.answers) > 0 {
		answer := s.answers[0]
		s.answers = s.answers[1:]
		answer(w)
		return
	}
	s.messages = append(s.messages, *message)
	w.Header().Set("Location", s.URL+"/message/1")
	w.WriteHeader(http.StatusCreated)
}

func (s *Service) read(r *http.Request) (*Message, error) {
	if r.Method != http.MethodPost || s.URL+r.URL.Path != s.Address() {
		return nil, fmt.Errorf("%s %s", r.Method, r.URL)
	}
	m := &Message{Topic: r.Header.Get("Topic"), Urgency: r.Header.Get("Urgency")}
	var err error
	if m.TTL, err = strconv.Atoi(r.Header.Get("TTL")); err != nil || m.TTL < 0 {
		return nil, fmt.Errorf("TTL %q", r.Header.Get("TTL"))
	}
	if len(m.Topic) > 32 || strings.Trim(m.Topic, letters) != "" {
		return nil, fmt.Errorf("topic %q", m.Topic)
	}
	if r.Header.Get("Content-Encoding") != "aes128gcm" {
		return nil, fmt.Errorf("content encoding %q", r.Header.Get("Content-Encoding"))
	}
	if m.Contact, err = s.sender(r.Header.Get("Authorization")); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, 4096))
	if err != nil {
		return nil, err
	}
	m.Plain, err = s.open(body)
	return m, err
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// sender checks the token of the header Authorization and returns its sub (RFC 8292, section 2).
func (s *Service) sender(header string) (contact string, err error) {
	parameters, ok := strings.CutPrefix(header, "vapid ")
	token, key, found := strings.Cut(strings.TrimPrefix(parameters, "t="), ", k=")
	if !ok || !found || s.Key != "" && key != s.Key {
		return "", fmt.Errorf("authorization %q", header)
	}
	point, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil {
		return "", err
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return "", err
	}
	signed, signature, payload, err := split(token)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(signed))
	half := len(signature) / 2
	if len(signature) != 64 || !ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:half]),
		new(big.Int).SetBytes(signature[half:])) {
		return "", errors.New("the token is not signed by k")
	}
	var claims struct {
		Audience  string `json:"aud"`
		ExpiresAt int64  `json:"exp"`
		Subject   string `json:"sub"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return "", err
	}
	left := time.Unix(claims.ExpiresAt, 0).Sub(s.now())
	if claims.Audience != s.URL || left <= 0 || left > 24*time.Hour {
		return "", fmt.Errorf("claims %s at %v", payload, s.now())
	}
	return claims.Subject, nil
}

func split(token string) (signed string, signature, payload []byte, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", nil, nil, fmt.Errorf("token %q", token)
	}
	head, err := base64.RawURLEncoding.DecodeString(parts[0])
	if err != nil || !strings.Contains(string(head), `"ES256"`) {
		return "", nil, nil, fmt.Errorf("head %q", head)
	}
	if payload, err = base64.RawURLEncoding.DecodeString(parts[1]); err != nil {
		return "", nil, nil, err
	}
	signature, err = base64.RawURLEncoding.DecodeString(parts[2])
	return parts[0] + "." + parts[1], signature, payload, err
}
