package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"bellhop/internal/yamlfile"
	"bellhop/protocol"
)

// DefaultPoll is how often Live checks its file for changes.
const DefaultPoll = 2 * time.Second

// LiveOptions are the sources of a Live. Without a File it has only the built-in
// rules.
type LiveOptions struct {
	File    string // a policy file, or a file with a policy section
	Section bool   // the policy is the member "policy" of File: rules, or the name of another file
	Engine  Options

	Poll time.Duration    // 0: DefaultPoll
	Now  func() time.Time // nil: time.Now
	Log  *slog.Logger     // nil: discarded
}

// Live decides by the current rules of its file. When the file becomes unreadable
// or invalid, the earlier rules stay in force, and the log and Notices report the
// error.
type Live struct {
	opts   LiveOptions
	engine atomic.Pointer[Engine]

	mu     sync.Mutex
	seen   []byte // content of the files at the last read
	notice string // error of the last reload; "" = it succeeded
	show   func(isWrong bool)
}

// Open reads the rules. An invalid file is an error here; for later errors see
// Live. Run keeps the rules up to date.
func Open(o LiveOptions) (*Live, error) {
	if o.Poll <= 0 {
		o.Poll = DefaultPoll
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := &Live{opts: o}
	if o.File == "" {
		l.engine.Store(Default(o.Engine))
		return l, nil
	}
	engine, content, err := o.read()
	if err != nil {
		return nil, err
	}
	l.seen = content
	l.engine.Store(engine)
	return l, nil
}

// Decide decides by the current rules, see Engine.Decide.
func (l *Live) Decide(c Call) Decision { return l.engine.Load().Decide(c) }

// Explain decides by the current rules, see Engine.Explain.
func (l *Live) Explain(c Call) (Decision, []Step) { return l.engine.Load().Explain(c) }

// CommonTool returns the common name of an agent's tool, see Engine.CommonTool.
func (l *Live) CommonTool(agent, tool string) string { return l.engine.Load().CommonTool(agent, tool) }

// Rules returns the current number of rules, built-in ones included.
func (l *Live) Rules() int { return l.engine.Load().Rules() }

// Notices returns the error of the file, if there is one.
func (l *Live) Notices() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.notice == "" {
		return nil
	}
	return []string{l.notice}
}

// ShowWith sets the function that is called when the file has become wrong, and when it is right
// again. The function must not call the Live.
func (l *Live) ShowWith(show func(isWrong bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.show = show
}

// Run reloads the file when it changes, until ctx ends.
func (l *Live) Run(ctx context.Context) error {
	if l.opts.File == "" {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(l.opts.Poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			l.Reload()
		}
	}
}

// Reload replaces the rules if the file has changed. It compares contents, because
// a file that was replaced by a link or a copy may have an older time.
func (l *Live) Reload() {
	l.mu.Lock()
	defer l.mu.Unlock()
	engine, content, err := l.opts.read()
	if err != nil {
		notice := fmt.Sprintf("The policy is wrong, the earlier rules stay: %v", err)
		if l.notice == "" && l.show != nil {
			l.show(true)
		}
		if l.notice == "" || !bytes.Equal(content, l.seen) {
			l.notice = notice + " (since " + l.opts.Now().UTC().Format(time.RFC3339) + ")"
			l.opts.Log.Error("the policy is wrong; the earlier rules stay", "file", l.opts.File, "error", err)
		}
		l.seen = content
		return
	}
	if bytes.Equal(content, l.seen) && l.notice == "" {
		return
	}
	if l.notice != "" && l.show != nil {
		l.show(false)
	}
	l.seen, l.notice = content, ""
	l.engine.Store(engine)
	l.opts.Log.Info("the policy has changed", "file", l.opts.File, "rules", engine.Rules())
}

// read returns the engine and the content of all files that it was made from. With an error
// the content may be partial.
func (o *LiveOptions) read() (*Engine, []byte, error) {
	content, err := readFile(o.File)
	if err != nil {
		return nil, nil, err
	}
	if !o.Section {
		engine, err := Parse(content, o.File, o.Engine)
		return engine, content, err
	}
	root, err := load(content, o.File)
	if err != nil {
		return nil, content, err
	}
	section := yamlfile.Member(root, "policy")
	switch {
	case section == nil:
		return Default(o.Engine), content, nil
	case section.Kind == yamlfile.Scalar && section.Value != "":
		name := section.Value
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(o.File), name)
		}
		more, err := readFile(name)
		if err != nil {
			return nil, content, err
		}
		content = append(content, more...)
		engine, err := Parse(more, name, o.Engine)
		return engine, content, err
	}
	doc, err := read(section, o.File, newToolNames(o.Engine))
	if err != nil {
		return nil, content, err
	}
	return newEngine(doc, o.Engine), content, nil
}

func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
		err = errors.New("it is not a regular file, or is larger than 1 MiB")
	}
	var content []byte
	if err == nil {
		content, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, &protocol.Error{Code: protocol.CodeInvalid, Message: name + ": the policy cannot be read", Err: err}
	}
	return content, nil
}
