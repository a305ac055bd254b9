package apidoc

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the golden document")

type pathRequest struct {
	ID    string `param:"id" json:"-"`
	Limit int    `query:"limit" json:"-"`
	requestBody
}

type requestBody struct {
	Name  string   `json:"name"`
	Color *string  `json:"color"`
	Tags  []string `json:"tags,omitempty"`
}

type part struct {
	When   time.Time       `json:"when"`
	Status protocol.Status `json:"status"`
	Any    json.RawMessage `json:"any"`
	Inner  *part           `json:"inner"`
	Left   *part           `json:"left,omitempty"`
	Labels map[string]int  `json:"labels"`
	Hidden string          `json:"-"`
}

type wrapped struct {
	*part
}

func sample() *Document {
	return &Document{
		Title: "Sample", Text: "A text.", Server: "/", Tags: []Tag{{"things", "Things."}},
		Schemes: []Scheme{{Name: "token", Kind: "bearer", Text: "A token."}}, Problem: reflect.TypeFor[protocol.ErrorBody](),
		Parameters: map[string]string{"id": "The id.", "limit": "How many."},
		Routes: []Route{
			{
				Endpoint: httpapi.Endpoint{
					Method: "POST", Path: "/things/:id", Request: reflect.TypeFor[pathRequest](), Status: http.StatusCreated,
					Response: reflect.TypeFor[wrapped](), MaxBody: 10,
				},
				Operation: Operation{
					ID: "makeThing", Tag: "things", Summary: "Make a thing", Codes: []protocol.Code{protocol.CodeBusy},
				},
				Security: []Requirement{{{Scheme: "token", Scopes: []string{"write"}}}},
			},
			{
				Endpoint: httpapi.Endpoint{
					Method: "GET", Path: "/things/:id", Events: []httpapi.Event{{Name: "part", Data: reflect.TypeFor[part]()}},
				},
				Operation: Operation{ID: "followThing", Tag: "things", Summary: "Follow a thing"},
			},
		},
	}
}

func TestTheDocumentOfASample(t *testing.T) {
	t.Parallel()
	const golden = "testdata/sample.yaml"
	got, err := sample().YAML("../..", "bellhop")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("got\n%s", got)
	}
}

func TestWhatADocumentRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(d *Document)
		want   string
	}{
		"no summary":       {func(d *Document) { d.Routes[0].Summary = "" }, "needs a summary and a known tag"},
		"an unknown tag":   {func(d *Document) { d.Routes[0].Tag = "x" }, "needs a summary and a known tag"},
		"an id used twice": {func(d *Document) { d.Routes[1].ID = "makeThing" }, "GET /things/:id needs an id of its own"},
		"a bare parameter": {func(d *Document) { delete(d.Parameters, "limit") }, "limit needs a description"},
		"a channel": {func(d *Document) {
			d.Routes[0].Response = reflect.TypeFor[struct{ C chan int }]()
		}, "no schema for chan int"},
	} {
		t.Run(name, func(t *testing.T) {
			d := sample()
			c.change(d)
			if _, err := d.YAML("../..", "bellhop"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
