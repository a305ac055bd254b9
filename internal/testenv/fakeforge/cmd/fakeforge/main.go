// Fakeforge serves a forge of tests on a loopback port, prints its address and ends with its input.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"bellhop/internal/testenv/fakeforge"
	"bellhop/protocol"
)

func main() {
	kind := flag.String("kind", string(protocol.ForgeGitea), "github, gitlab or gitea")
	repository := flag.String("repository", "", "owner/name")
	root := flag.String("root", "", "directory of the bare repository")
	flag.Parse()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	forge := &fakeforge.Forge{Kind: protocol.ForgeKind(*kind), Repository: *repository, Root: *root}
	server := &http.Server{Handler: forge, ReadHeaderTimeout: 10 * time.Second}
	go func() { // the test has ended
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Close()
	}()
	fmt.Printf("http://%s%s\n", listener.Addr(), forge.Suffix())
	if err := server.Serve(listener); err != http.ErrServerClosed {
		log.Fatal(err)
	}
}
