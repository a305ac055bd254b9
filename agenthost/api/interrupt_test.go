package api_test

import "testing"

func TestAStopOfAnotherTurnLeavesTheAnnouncedOne(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	for _, c := range []struct{ turn, query, end string }{
		{"t1", "?turnId=t9", "finish"}, {"t2", "?turnId=t2", "abort"}, {"t3", "", "abort"},
	} {
		token := h.announce("s1", c.turn)
		status, _, body := h.call(request{"POST", "/session/s1/interrupt" + c.query, "{}", []string{bearerPassword}})
		expectEqual(t, "the answer", body, `{"success":true,"sessionId":"s1"}`)
		parts := h.prompt("s1", token, "text hello").readAll()
		if end := parts[len(parts)-1].Type; status != 200 || end != c.end {
			t.Errorf("%d, turn %s ended with %s, want %s", status, c.turn, end, c.end)
		}
	}
	if n := len(h.fake.Prompts()); n != 1 {
		t.Errorf("the agent got %d prompts", n)
	}
}
