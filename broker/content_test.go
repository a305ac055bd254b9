package broker_test

import (
	"context"
	"strings"
	"testing"

	"bellhop/broker"
	"bellhop/protocol"
)

// showing is a ContentLink of a host that sends unclean answers.
type showing struct {
	asked []string
	err   error
	list  *protocol.FileList
	file  *protocol.FileContent
	found *protocol.FileMatches
}

func (s *showing) Directory(_ context.Context, _ broker.Target, id, path, after string) (*protocol.FileList, error) {
	s.asked = append(s.asked, "files "+id+" "+path+" "+after)
	return s.list, s.err
}

func (s *showing) File(_ context.Context, _ broker.Target, id, path string, _ int64) (*protocol.FileContent, error) {
	s.asked = append(s.asked, "file "+id+" "+path)
	return s.file, s.err
}

func (s *showing) SearchFiles(
	_ context.Context, _ broker.Target, id string, q protocol.FileSearch,
) (*protocol.FileMatches, error) {
	s.asked = append(s.asked, "search "+id+" "+q.Query)
	return s.found, s.err
}

// viewedTask is a task with a turn at a host that shows files.
func viewedTask(k *kit) string {
	task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{
		Title: "T", AgentURL: "https://agent.example", AgentPassword: "pw",
	})
	k.must(err)
	in := k.checkIn(task.ID, "hi")
	k.mustSend(task.ID, in.TurnID, seqd(1, 1, in.TurnID, `'type':'text','id':'a','text':'working'`))
	return task.ID
}

func TestTheFilesOfATaskAreReadAtItsHost(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	link := &showing{
		list:  &protocol.FileList{Entries: []protocol.FileEntry{{Name: "a\x00b", Kind: "script"}}},
		file:  &protocol.FileContent{Kind: protocol.ContentText, MediaType: "text/html", Text: "a\x00b", More: true},
		found: &protocol.FileMatches{Matches: make([]protocol.FileMatch, protocol.MaxMatches+1)},
	}
	files := &broker.Files{Sessions: k.sessions, ContentLink: link}
	id := viewedTask(k)
	list, err := files.Directory(k.ctx, k.user.UserID, id, "src", "a.go")
	k.must(err)
	if list.Entries[0].Name != "a\uFFFDb" || list.Entries[0].Kind != protocol.FileOther {
		t.Errorf("%+v", list.Entries)
	}
	file, err := files.File(k.ctx, k.user.UserID, id, "README", 0)
	k.must(err)
	if file.MediaType != "text/plain" || file.Text != "a\uFFFDb" || file.More {
		t.Errorf("%+v", file)
	}
	found, err := files.Search(k.ctx, k.user.UserID, id, protocol.FileSearch{Query: "x"})
	k.must(err)
	if len(found.Matches) != protocol.MaxMatches || !found.More {
		t.Errorf("%d matches", len(found.Matches))
	}
	link.file = &protocol.FileContent{Kind: protocol.ContentImage, MediaType: "image/svg+xml", Data: "PHN2Zz4="}
	if file, err = files.File(k.ctx, k.user.UserID, id, "a.svg", 0); err != nil || file.Kind != protocol.ContentBinary ||
		file.Data != "" {
		t.Errorf("an image that can run scripts: %+v, %v", file, err)
	}
	want := "files " + id + " src a.go, file " + id + " README, search " + id + " x, file " + id + " a.svg"
	if got := strings.Join(link.asked, ", "); got != want {
		t.Errorf("asked %s", got)
	}
}

func TestFilesAreNotReadForOtherUsersNorOutsideOfAWorkspace(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	link := &showing{}
	files := &broker.Files{Sessions: k.sessions, ContentLink: link}
	id := viewedTask(k)
	early := k.task().ID
	for name, c := range map[string]struct {
		user, task, path string
		want             protocol.Code
	}{
		"another user":    {"another user", id, "README", protocol.CodeNotFound},
		"a parent":        {k.user.UserID, id, "../x", protocol.CodeInvalid},
		"git's files":     {k.user.UserID, id, ".git/config", protocol.CodeInvalid},
		"before any turn": {k.user.UserID, early, "README", protocol.CodeNoWorkspace},
	} {
		_, errList := files.Directory(k.ctx, c.user, c.task, c.path, "")
		_, errFile := files.File(k.ctx, c.user, c.task, c.path, 0)
		if protocol.CodeOf(errList) != c.want || protocol.CodeOf(errFile) != c.want {
			t.Errorf("%s: %v, %v", name, errList, errFile)
		}
	}
	if len(link.asked) != 0 {
		t.Errorf("asked %v", link.asked)
	}
	if _, err := files.Search(k.ctx, "another user", id, protocol.FileSearch{Query: "x"}); protocol.CodeOf(err) !=
		protocol.CodeNotFound {
		t.Errorf("a search of another user: %v", err)
	}
	if _, err := files.Search(k.ctx, k.user.UserID, id, protocol.FileSearch{Query: "(", Regexp: true}); protocol.CodeOf(
		err) != protocol.CodeInvalid {
		t.Errorf("no expression: %v", err)
	}
	link.err = protocol.Errorf(protocol.CodeMethodNotAllowed, "no such route")
	if _, err := files.File(k.ctx, k.user.UserID, id, "README", 0); protocol.CodeOf(err) != protocol.CodeBadGateway {
		t.Errorf("a basic host: %v", err)
	}
}
