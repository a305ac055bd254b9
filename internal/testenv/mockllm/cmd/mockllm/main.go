// Command mockllm serves the scripted language model of package mockllm, to try an agent
// without a real model:
//
//	go run ./internal/testenv/mockllm/cmd/mockllm -addr 127.0.0.1:4010
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"bellhop/internal/testenv/mockllm"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:4010", "loopback address to listen on")
	delay := flag.Duration("delay", 15*time.Millisecond, "pause between the pieces of an answer")
	flag.Parse()
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	if tcp, ok := listener.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		log.Fatal("mockllm: -addr must be a loopback address, because no key is required")
	}
	_, _ = fmt.Printf("mockllm listening on http://%s\n", listener.Addr())
	server := &http.Server{Handler: mockllm.NewServer(*delay), ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(server.Serve(listener))
}
