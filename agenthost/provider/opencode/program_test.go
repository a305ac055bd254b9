package opencode_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

// target in the environment makes this test binary a program that serves what
// the test's own process does at that address.
const target = "OPENCODE_TEST_TARGET"

// how says what else that program does: "" nothing, "dies" at once.
const how = "OPENCODE_TEST_HOW"

func TestMain(m *testing.M) {
	if address := os.Getenv(target); address != "" {
		stand(address)
		return
	}
	goleak.VerifyTestMain(m)
}

// stand is the program: "serve --hostname H --port N".
func stand(address string) {
	if os.Getenv(how) == "dies" {
		fmt.Fprintln(os.Stderr, "panic: oh no")
		os.Exit(3)
	}
	at := slices.Index(os.Args, "--port")
	listener, err := net.Listen("tcp4", "127.0.0.1:"+os.Args[at+1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "ServeError")
		os.Exit(1)
	}
	fmt.Println("opencode server listening on http://127.0.0.1:" + os.Args[at+1])
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp4", address)
		if err != nil {
			_ = from.Close()
			continue
		}
		for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1])
				_ = pair[0].Close()
				_ = pair[1].Close()
			}()
		}
	}
}
