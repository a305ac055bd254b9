package feed_test

import (
	"testing"

	"bellhop/broker/feed"
)

func TestTheFeedOfAUserShowsThatAnnouncementsChanged(t *testing.T) {
	t.Parallel()
	source := newMemory("a")
	f := feed.New(source, feed.Options{Log: discard})
	f.Announced() // before the connection: its reader reads them anyway
	r := connect(t, server(t, f, always).URL+"/api/events", "")
	r.next()
	f.Announced()
	r.want(`2 announcements {}`)
	f.Changed(user, "a", source.change("a"))
	r.want(`3 task {"taskId":"a","rev":1,"agentStatus":"busy","reason":"","openInteractions":0}`)
}
