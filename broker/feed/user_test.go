package feed_test

import (
	"testing"

	"bellhop/broker/feed"
)

func TestUserFeed(t *testing.T) {
	t.Parallel()
	source := newMemory("a", "b")
	source.change("a")
	f := feed.New(source, feed.Options{Log: discard})
	r := connect(t, server(t, f, always).URL+"/api/events", "77")
	r.want(`1 hello {"tasks":[{"taskId":"a","rev":1,"agentStatus":"busy","reason":"","openInteractions":0},{"taskId":"b","rev":0,"agentStatus":"busy","reason":"","openInteractions":0}]}`)
	f.Changed(user, "b", source.change("b"))
	r.want(`2 task {"taskId":"b","rev":1,"agentStatus":"busy","reason":"","openInteractions":0}`)
	f.Changed("another", "b", 9)
	f.Changed(user, "a", source.change("a"))
	r.want(`3 task {"taskId":"a","rev":2,"agentStatus":"busy","reason":"","openInteractions":0}`)
}

func TestUserFeedMergesHintsPerTask(t *testing.T) {
	t.Parallel()
	source := newMemory("a")
	f := feed.New(source, feed.Options{Log: discard})
	r := connect(t, server(t, f, always).URL+"/api/events", "")
	r.next()
	for range 50 {
		source.change("a")
	}
	f.Changed(user, "a", 50)
	f.Changed(user, "a", 50)
	r.want(`2 task {"taskId":"a","rev":50,"agentStatus":"busy","reason":"","openInteractions":0}`)
}

func TestUserWithoutTasks(t *testing.T) {
	t.Parallel()
	r := connect(t, server(t, feed.New(newMemory(), feed.Options{Log: discard}), always).URL+"/api/events", "")
	r.want(`1 hello {"tasks":[]}`)
}
