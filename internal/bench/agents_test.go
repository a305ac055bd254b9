package bench

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestATeeStampsNumbersWhenTheyPass(t *testing.T) {
	pieces := `{"text":"tick0 "}` + "\n" + `{"content":"7 "}` + "\nno number, nor \"2 \"\n"
	complete, next := `{"text":"tick0 tick1 "}`+"\n", `{"text":"tick0 "} an end without a line's`
	from := time.Now().UnixNano()
	var out bytes.Buffer
	if err := stamp(strings.NewReader(pieces+complete+next), &out); err != nil {
		t.Fatal(err)
	}
	marks := regexp.MustCompile(partMark + `(\d+) `)
	if got := marks.ReplaceAllString(out.String(), ""); got != pieces+complete+next {
		t.Errorf("passed on %q", got)
	}
	times := each(marks.FindAllStringSubmatch(out.String(), -1), func(m []string) string { return m[1] })
	if len(times) != 5 || times[0] != times[2] || times[4] == times[0] || times[3] <= times[2] {
		t.Errorf("stamped %q: a text that was written in pieces has their times", times)
	}
	if first := markIn(out.Bytes(), partMark); first < from || first > time.Now().UnixNano() {
		t.Errorf("the first time is %d, not one after %d", first, from)
	}
}

func TestATeeRunsItsProgram(t *testing.T) {
	var out bytes.Buffer
	if err := Tee(t.Context(), nil, &out); err == nil {
		t.Error("no error without a command")
	}
	if err := Tee(t.Context(), []string{"sh", "-c", "echo 'tick7 '"}, &out); err != nil ||
		markIn(out.Bytes(), "tick7 "+partMark) == 0 || !strings.HasSuffix(out.String(), " \n") {
		t.Errorf("%v, wrote %q", err, out.String())
	}
}

func TestATeeStampsTheResponsesOfAServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: tick3 "+r.URL.Path+"\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done() // as a stream of events does
	}))
	defer server.Close()
	tee := httptest.NewServer(stampingProxy(must(url.Parse(server.URL))))
	defer tee.Close()
	body := must(request(t.Context(), http.MethodGet, tee.URL+"/event", "", nil))
	defer transport.CloseIdleConnections()
	line, err := bufio.NewReader(body).ReadString('\n')
	if err != nil || markIn([]byte(line), "data: tick3 "+partMark) == 0 || !strings.HasSuffix(line, " /event\n") {
		t.Errorf("read %q (%v)", line, err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
}

func TestScenariosWithThirdPartyProgramsRunOnlyOnRequest(t *testing.T) {
	usual, err1 := choose(nil)
	asked, err2 := choose([]string{"agents", "idle"})
	if err1 != nil || err2 != nil || len(usual) != len(scenarios)-1 || len(asked) != 2 || asked[0].name != "agents" {
		t.Errorf("%v %v, %v %v", usual, err1, asked, err2)
	}
	if _, err := (&settings{}).run(t.Context(), asked[0]); err == nil ||
		!strings.Contains(err.Error(), "scripts/bench-agents") {
		t.Errorf("without the programs: %v", err)
	}
}
