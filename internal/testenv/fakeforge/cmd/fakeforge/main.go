// Fakeforge serves a forge of tests on a loopback port, and prints the address of its API.
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
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
	fmt.Printf("http://%s%s\n", listener.Addr(), forge.Suffix())
	log.Fatal(server.Serve(listener))
}
