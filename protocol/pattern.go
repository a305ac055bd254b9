package protocol

import (
	"regexp"
	"sync"
)

// pattern returns an expression that is compiled at its first use: every program imports this package, few parse
// events.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
