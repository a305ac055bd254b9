package egress

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"bellhop/internal/testenv"
)

// A name that no rule lists is asked about, on both ways. Addresses, and names without a dot,
// are the operator's matter.
func TestUnlistedNamesAreAskedAbout(t *testing.T) { //nolint:paralleltest // it replaces the resolver
	testenv.Resolve(t, func(string) []string { return []string{"127.0.0.1"} })
	own := []string{"127.0.0.0/8", "listed.example:PORT"}
	for name, c := range map[string]struct {
		entries []string
		target  string
		answer  bool
		want    int
		asked   string
	}{
		"allowed":                    {own, "Shop.Example.:PORT", true, 200, "shop.example:PORT"},
		"denied":                     {own, "shop.example:PORT", false, 403, "shop.example:PORT"},
		"listed":                     {own, "listed.example:PORT", false, 200, ""},
		"listed with another port":   {own, "listed.example:1", false, 403, "listed.example:1"},
		"leads to a private address": {nil, "shop.example:PORT", true, 403, "shop.example:PORT"},
		"an address":                 {nil, "127.0.0.1:PORT", true, 403, ""},
		"an address as IPv6":         {nil, "[::1]:PORT", true, 403, ""},
		"an unusual address":         {nil, "127.1:PORT", true, 403, ""},
		"an address in hexadecimal":  {nil, "0x7f.0.0.0x1:PORT", true, 403, ""},
		"no dot":                     {nil, "localhost:PORT", true, 403, ""},
		"all names":                  {nil, "*.example:PORT", true, 403, ""},
		"the port 0":                 {nil, "shop.example:0", true, 403, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOutside(t, slices.Clone(c.entries)...)
			o.answer = c.answer
			target := strings.ReplaceAll(c.target, "PORT", o.port())
			if status, body := o.send("GET http://" + target + "/x HTTP/1.1\nHost: " + target +
				"\nConnection: close\n\n"); status != c.want {
				t.Errorf("plain: %d %s", status, body)
			}
			if status, body := o.send("CONNECT " + target + " HTTP/1.1\nHost: " + target + "\n\n"); status != c.want {
				t.Errorf("CONNECT: %d %s", status, body)
			}
			var asked []string
			if c.asked != "" {
				one := strings.ReplaceAll(c.asked, "PORT", o.port())
				asked = []string{one, one}
			}
			if !slices.Equal(o.asked, asked) {
				t.Errorf("asked about %q, want %q", o.asked, asked)
			}
			if refused := c.want == http.StatusForbidden; refused != (len(o.refused) == 2) {
				t.Errorf("refused: %q", o.refused)
			}
		})
	}
}
