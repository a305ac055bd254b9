package hosts_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/hosts"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

func TestOnlyAHostCommits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host http.HandlerFunc
		want protocol.Code
	}{
		"a host":                            {answering(200, `{"success":true,"sessionId":"s1","commit":"c0ffee"}`), ""},
		"a gateway":                         {answering(200, `{"success":true}`), protocol.CodeBadGateway},
		"a web page":                        {answering(200, `<html>`), protocol.CodeBadGateway},
		"a basic host":                      {answering(404, `no such page`), protocol.CodeMethodNotAllowed},
		"a host that does not commit":       {answering(405, `{"error":"no","code":"method_not_allowed"}`), protocol.CodeMethodNotAllowed},
		"an unknown session":                {answering(404, `{"error":"Session not found","code":"not_found"}`), protocol.CodeNotFound},
		"nothing to commit":                 {answering(409, `{"error":"no","code":"nothing_to_commit"}`), protocol.CodeNothingToCommit},
		"a merge that is not finished":      {answering(409, `{"error":"no","code":"unmerged"}`), protocol.CodeUnmerged},
		"an open turn":                      {answering(409, `{"error":"no","code":"busy"}`), protocol.CodeBusy},
		"a host that fails in another form": {answering(500, `oops`), protocol.CodeBadGateway},
	} {
		t.Run(name, func(t *testing.T) {
			to := target(serve(t, c.host), password)
			done, err := newClient(t, hosts.Options{}).Commit(t.Context(), to, "s1", &protocol.CommitRequest{})
			if protocol.CodeOf(err) != c.want || err == nil && done.Commit != "c0ffee" {
				t.Errorf("%+v, %v, want %q", done, err, c.want)
			}
		})
	}
}

func TestOnlyAHostPushes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host http.HandlerFunc
		want protocol.Code
	}{
		"a host":            {answering(200, `{"success":true,"sessionId":"s1","commit":"c0ffee"}`), ""},
		"a gateway":         {answering(200, `{"success":true}`), protocol.CodeBadGateway},
		"a basic host":      {answering(404, `no such page`), protocol.CodeMethodNotAllowed},
		"other commits":     {answering(409, `{"error":"no","code":"diverged_branch"}`), protocol.CodeDivergedBranch},
		"a remote's hook":   {answering(409, `{"error":"no","code":"push_rejected"}`), protocol.CodePushRejected},
		"a project without": {answering(409, `{"error":"no","code":"no_remote"}`), protocol.CodeNoRemote},
		"a remote's outage": {answering(502, `{"error":"no","code":"remote_failed"}`), protocol.CodeRemoteFailed},
		"a gateway's 502":   {answering(502, `<html>`), protocol.CodeBadGateway},
	} {
		t.Run(name, func(t *testing.T) {
			to := target(serve(t, c.host), password)
			done, err := newClient(t, hosts.Options{}).Push(t.Context(), to, "s1", &protocol.PushRequest{}, nil)
			if protocol.CodeOf(err) != c.want || err == nil && done.Commit != "c0ffee" {
				t.Errorf("%+v, %v, want %q", done, err, c.want)
			}
		})
	}
}

func TestOnlyAHostFetches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host http.HandlerFunc
		want protocol.Code
	}{
		"a host":            {answering(200, `{"success":true,"sessionId":"s1","branch":"b"}`), ""},
		"a gateway":         {answering(200, `{"success":true}`), protocol.CodeBadGateway},
		"a basic host":      {answering(404, `no such page`), protocol.CodeMethodNotAllowed},
		"a remote's outage": {answering(502, `{"error":"no","code":"remote_failed"}`), protocol.CodeRemoteFailed},
	} {
		t.Run(name, func(t *testing.T) {
			done, err := newClient(t, hosts.Options{}).Fetch(t.Context(), target(serve(t, c.host), password), "s1", nil)
			if protocol.CodeOf(err) != c.want || err == nil && done.Branch != "b" {
				t.Errorf("%+v, %v, want %q", done, err, c.want)
			}
		})
	}
}

func TestTheOwnTokenOfAUserIsInTheRequestOfAnAct(t *testing.T) {
	t.Parallel()
	var bodies []string
	to := target(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		bodies = append(bodies, r.URL.Path+string(content))
		_, _ = io.WriteString(w, `{"sessionId":"s1","commit":"c0ffee","branch":"b","url":"https://example.org/1"}`)
	})), password)
	client := newClient(t, hosts.Options{})
	own := &broker.ForgeToken{
		ForgeToken: protocol.ForgeToken{Forge: "git.example.org", Kind: protocol.ForgeGitea}, Token: seal.NewSecret("ada's"),
	}
	for _, own := range []*broker.ForgeToken{own, nil} {
		_, pushErr := client.Push(t.Context(), to, "s1", &protocol.PushRequest{Replaces: "c"}, own)
		_, fetchErr := client.Fetch(t.Context(), to, "s1", own)
		_, requestErr := client.PullRequest(t.Context(), to, "s1", &protocol.PullRequestRequest{Title: "T"}, own)
		if err := errors.Join(pushErr, fetchErr, requestErr); err != nil {
			t.Fatal(err)
		}
	}
	const credential = `"credential":{"forge":"git.example.org","kind":"gitea","token":"ada's"}`
	want := []string{
		`/session/s1/push{"replaces":"c",` + credential + `}`, `/session/s1/fetch{` + credential + `}`,
		`/session/s1/pull-request{"title":"T","body":"",` + credential + `}`,
		`/session/s1/push{"replaces":"c"}`, `/session/s1/fetch{}`, `/session/s1/pull-request{"title":"T","body":""}`,
	}
	if !slices.Equal(bodies, want) {
		t.Errorf("got %q\nwant %q", bodies, want)
	}
}

func TestACommitIsOneRequest(t *testing.T) {
	t.Parallel()
	var asked, body string
	var acts []string
	to := target(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		asked, body = r.Method+" "+r.RequestURI, string(content)
		acts = append(acts, r.Header.Get(protocol.HeaderAct))
		if _, err := time.Parse(time.RFC3339Nano, r.Header.Get(protocol.HeaderFirstSeen)); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, `{"sessionId":"s1","commit":"c0ffee"}`)
	})), password)
	commit := func() {
		_, err := newClient(t, hosts.Options{}).Commit(t.Context(), to, "s1", &protocol.CommitRequest{
			Message: "Work\n", Author: protocol.CommitAuthor{Name: "ada", Email: "ada@example.org"}, Snapshot: "a", Head: "b",
		})
		if err != nil || asked != "POST /session/s1/commit" ||
			body != `{"message":"Work\n","author":{"name":"ada","email":"ada@example.org"},"snapshot":"a","head":"b"}` {
			t.Errorf("%v, %s %s", err, asked, body)
		}
	}
	commit()
	commit()
	if acts[0] == "" || acts[0] == acts[1] {
		t.Errorf("the acts of two calls are %q", acts)
	}
}
