package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"bellhop/crypto/seal"
	"bellhop/crypto/totp"
	"bellhop/internal/app"
	"bellhop/internal/sse"
	"bellhop/protocol"
)

// do sends an HTTP request of a story; header may be nil.
func (w *storyState) do(method, url, body string, header map[string]string) (status int, answer string, err error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := w.http.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	content, err := io.ReadAll(res.Body)
	return res.StatusCode, string(content), err
}

// request runs METHOD ROUTE [JSON]. An error status fails the story unless neg is set.
func request(ts *testscript.TestScript, neg bool, base string, args []string, header map[string]string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: METHOD ROUTE [JSON]")
	}
	status, answer, err := stateOf(ts).do(args[0], base+args[1], strings.Join(args[2:], ""), header)
	ts.Check(err)
	_, _ = io.WriteString(ts.Stdout(), answer)
	_, _ = fmt.Fprintln(ts.Stderr(), status, http.StatusText(status))
	if failed := status >= http.StatusBadRequest; failed != neg {
		ts.Fatalf("%s %s: %d %s", args[0], args[1], status, answer)
	}
}

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

func api(ts *testscript.TestScript, neg bool, args []string) {
	request(ts, neg, ts.Getenv("broker"), args, bearer(ts.Getenv("token")))
}

func callHost(ts *testscript.TestScript, neg bool, args []string) {
	request(ts, neg, ts.Getenv("host"), args, operator(ts))
}

// operator is what a person shows to the host who can read its data.
func operator(ts *testscript.TestScript) map[string]string {
	header := bearer(ts.Getenv("hostPassword"))
	_ = filepath.WalkDir(ts.Getenv("WORK"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "operator-key" { // directories that the test cannot read have none
			key, err := app.ReadOperatorKey(filepath.Dir(path))
			ts.Check(err)
			header[protocol.HeaderSessionKey] = key.Reveal()
			return fs.SkipAll
		}
		return nil
	})
	return header
}

// browser sends a request as a page of the broker's origin does, and sets $cookie to
// the session cookie.
func browser(ts *testscript.TestScript, neg bool, args []string) {
	base := ts.Getenv("broker")
	request(ts, neg, base, args, map[string]string{"Origin": base, "Sec-Fetch-Site": "same-origin"})
	u, err := url.Parse(base)
	ts.Check(err)
	for _, cookie := range stateOf(ts).http.Jar.Cookies(u) {
		ts.Setenv("cookie", cookie.Value)
	}
}

func showCode(ts *testscript.TestScript, neg bool, args []string) {
	checkUsage(ts, "totp", neg, len(args) == 1)
	code, err := totp.Code(seal.NewSecret(args[0]), time.Now())
	ts.Check(err)
	_, _ = io.WriteString(ts.Stdout(), code+"\n")
}

func await(ts *testscript.TestScript, neg bool, args []string) {
	checkUsage(ts, "await", neg, len(args) == 3)
	var answer string
	for limit := time.Now().Add(conditionTimeout); ; {
		status, body, err := stateOf(ts).do(http.MethodGet, ts.Getenv("broker")+args[0], "", bearer(ts.Getenv("token")))
		if got, found := valueAt(body, args[1]); err == nil && status == http.StatusOK && found == nil && got == args[2] {
			_, _ = io.WriteString(ts.Stdout(), body)
			return
		}
		if answer = fmt.Sprint(status, " ", body, err); time.Now().After(limit) {
			ts.Fatalf("%s never had %s at %s: %s", args[0], args[2], args[1], answer)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func let(ts *testscript.TestScript, neg bool, args []string) {
	checkUsage(ts, "let", neg, len(args) == 2 || len(args) == 3)
	file := "stdout"
	if len(args) == 3 {
		file = args[2]
	}
	value, err := selectValue(ts.ReadFile(file), args[1])
	ts.Check(err)
	ts.Setenv(args[0], value)
}

func match(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: match PATH VALUE")
	}
	answer := ts.ReadFile("stdout")
	got, err := valueAt(answer, args[0])
	if same := err == nil && got == args[1]; same == neg {
		ts.Fatalf("%s is %q (%v), wanted %q, in %s", args[0], got, err, args[1], answer)
	}
}

// selectValue returns the value at a path, or the first group of a regular expression.
func selectValue(text, path string) (string, error) {
	if !strings.HasPrefix(path, "/") {
		return valueAt(text, path)
	}
	found := regexp.MustCompile("(?m)" + strings.Trim(path, "/")).FindStringSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("no %s in %q", path, text)
	}
	return found[len(found)-1], nil
}

// valueAt returns the value at a path such as .messages[0].id. A final ".len" counts
// the elements.
func valueAt(document, path string) (string, error) {
	var value any
	if err := json.Unmarshal([]byte(document), &value); err != nil {
		return "", err
	}
	path, count := strings.CutSuffix(path, ".len")
	for _, step := range regexp.MustCompile(`\.\w+|\[\d+\]`).FindAllString(path, -1) {
		switch v := value.(type) {
		case map[string]any:
			member, ok := v[step[1:]]
			if !ok {
				return "", fmt.Errorf("no %s", step)
			}
			value = member
		case []any:
			i, err := strconv.Atoi(strings.Trim(step, "[]"))
			if err != nil || i >= len(v) {
				return "", fmt.Errorf("no %s", step)
			}
			value = v[i]
		default:
			return "", fmt.Errorf("no %s", step)
		}
	}
	if list, ok := value.([]any); ok && count {
		return strconv.Itoa(len(list)), nil
	}
	if text, ok := value.(string); ok {
		return text, nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}

func checkin(ts *testscript.TestScript, neg bool, args []string) {
	checkUsage(ts, "checkin", neg, len(args) == 1)
	body, err := json.Marshal(map[string]string{"taskId": ts.Getenv("task"), "message": args[0]})
	ts.Check(err)
	openStream(ts, "/api/agent", string(body))
}

func attach(ts *testscript.TestScript, neg bool, args []string) {
	checkUsage(ts, "attach", neg, len(args) == 0)
	openStream(ts, "/api/agent/attach", `{"taskId":"`+ts.Getenv("task")+`"}`)
}

func openStream(ts *testscript.TestScript, route, body string) {
	status, answer, err := stateOf(ts).do(http.MethodPost, ts.Getenv("broker")+route, body, bearer(ts.Getenv("token")))
	ts.Check(err)
	_, _ = io.WriteString(ts.Stdout(), answer)
	if status != http.StatusOK {
		ts.Fatalf("POST %s: %d %s", route, status, answer)
	}
	for _, name := range []string{"streamUrl", "streamToken", "messageId", "turnId"} {
		if value, err := valueAt(answer, "."+name); err == nil {
			ts.Setenv(name, value)
		}
	}
}

// streamRequest describes one connection to a stream.
type streamRequest struct {
	until *regexp.Regexp
	after string
	body  string
}

func stream(ts *testscript.TestScript, neg bool, args []string) {
	var r streamRequest
	for len(args) >= 2 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-until":
			r.until = regexp.MustCompile(args[1])
		case "-after":
			r.after = args[1]
		}
		args = args[2:]
	}
	checkUsage(ts, "stream", neg, len(args) <= 1)
	if len(args) == 1 {
		body, err := json.Marshal(map[string]string{"prompt": args[0]})
		ts.Check(err)
		r.body = string(body)
	}
	cursor, err := stateOf(ts).readStream(ts, r)
	ts.Setenv("cursor", cursor)
	ts.Check(err)
}

// readStream prints frames as "id data" lines until the end that r names.
func (w *storyState) readStream(ts *testscript.TestScript, r streamRequest) (cursor string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), conditionTimeout)
	defer cancel()
	method := http.MethodGet
	if r.body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, ts.Getenv("streamUrl"), strings.NewReader(r.body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+ts.Getenv("streamToken"))
	req.Header.Set("Content-Type", "application/json")
	if r.after != "" {
		req.Header.Set("Last-Event-ID", r.after)
	}
	res, err := w.http.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	out := ts.Stdout()
	if res.StatusCode != http.StatusOK {
		_, err := io.Copy(out, res.Body)
		return "", errors.Join(fmt.Errorf("stream: %s", res.Status), err)
	}
	for reader := sse.NewReader(res.Body); ; {
		frame, err := reader.Next()
		if errors.Is(err, io.EOF) && r.until == nil {
			return reader.LastID(), nil
		}
		if err != nil {
			return reader.LastID(), err
		}
		_, _ = fmt.Fprintln(out, frame.ID, string(frame.Data))
		if r.until != nil && r.until.Match(frame.Data) {
			return reader.LastID(), nil
		}
	}
}
