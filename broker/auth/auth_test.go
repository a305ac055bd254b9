package auth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/broker"
	"bellhop/broker/auth"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/schema"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	email    = "ada@example.com"
	password = "correct horse battery"
	address  = "192.0.2.1:4711"
)

// start is the real time, because scs compares with the real clock when it writes
// the cookie.
var start = time.Now().UTC().Truncate(time.Second)

type desk struct {
	*auth.Service
	t     *testing.T
	db    *database.DB
	store *store.Store
	clock *testenv.Clock
	ada   *broker.User
	mine  *http.Cookie // of ada's session
}

func open(t *testing.T, publicURL string) *desk {
	t.Helper()
	db, err := database.Open(t.Context(), schema.SQLite(t), database.Options{Synchronous: "OFF"})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	keyset, err := seal.Generate()
	must(t, err)
	sealer, err := seal.Parse(keyset)
	must(t, err)
	d := &desk{t: t, db: db, store: store.New(db, sealer), clock: testenv.NewClock(start)}
	d.Service = auth.New(auth.Options{Store: d.store, PublicURL: publicURL, Now: d.clock.Now})
	d.ada = &broker.User{ID: protocol.NewID(), Email: "ada@example.com", CreatedAt: d.clock.Now()}
	storetest.AddUser(t, d.store, d.ada, password)
	return d
}

func (d *desk) exec(sql string) {
	d.t.Helper()
	must(d.t, d.db.Write(d.t.Context(), func(ctx context.Context) error { return d.db.Conn(ctx).Exec(sql).Error }))
}

func (d *desk) query(sql string, value any) {
	d.t.Helper()
	must(d.t, d.db.Conn(d.t.Context()).Raw(sql).Row().Scan(value))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, code protocol.Code) {
	t.Helper()
	if protocol.CodeOf(err) != code {
		t.Errorf("got %v (%q), want code %q", err, protocol.CodeOf(err), code)
	}
}

func request(method string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, "http://broker.example/api/tasks", http.NoBody)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// signIn returns the cookie of a new session.
func (d *desk) signIn(r *http.Request) *http.Cookie {
	d.t.Helper()
	w := httptest.NewRecorder()
	if _, err := d.SignIn(w, r, address, email, password); err != nil {
		d.t.Fatal(err)
	}
	cookies := w.Result().Cookies()
	if len(cookies) != 1 {
		d.t.Fatalf("%d cookies", len(cookies))
	}
	return cookies[0]
}

func with(r *http.Request, cookies ...*http.Cookie) *http.Request {
	for _, c := range cookies {
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
	return r
}

func (d *desk) wantCaller(r *http.Request) {
	d.t.Helper()
	caller, err := d.Authenticate(r)
	if err != nil || caller.UserID != d.ada.ID {
		d.t.Errorf("got %+v, %v; want %s", caller, err, d.ada.ID)
	}
}

func (d *desk) wantNoCaller(r *http.Request, code protocol.Code) {
	d.t.Helper()
	caller, err := d.Authenticate(r)
	wantCode(d.t, err, code)
	if caller != (broker.Caller{}) {
		d.t.Errorf("a refused request has the caller %+v", caller)
	}
}
