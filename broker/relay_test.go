package broker

import "testing"

func TestOriginOfAcceptsOnlyPolicyHosts(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://Host.Example:7701/stream/x":     "https://host.example:7701",
		"http://10.0.0.1":                        "http://10.0.0.1",
		"HTTPS://user:secret@host.example/":      "https://host.example",
		"https://xn--bcher-kva.example":          "https://xn--bcher-kva.example",
		"https://my_host:":                       "https://my_host",
		"https://bücher.example":                 "",
		"http://[::1]:7701":                      "",
		"http://[fe80::1%25eth0]/":               "",
		"https://*.example":                      "",
		"https://host.example;script-src":        "",
		"https://host.example,https://b.example": "",
		"https://a'self'":                        "",
		"https://-a.example":                     "",
		"https:///path":                          "",
		"wss://host.example":                     "",
		"javascript:alert(1)":                    "",
		"":                                       "",
	} {
		if got := originOf(raw); got != want {
			t.Errorf("%s: %q, not %q", raw, got, want)
		}
	}
}
