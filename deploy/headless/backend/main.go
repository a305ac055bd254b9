package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Main runs the example with the variables AGENT_URL, and AGENT_TOKEN or
// AGENT_TOKEN_FILE.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := main(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "backend:", err)
		os.Exit(1)
	}
}

func main(ctx context.Context) error {
	b := &Backend{URL: strings.TrimRight(os.Getenv("AGENT_URL"), "/"), Token: os.Getenv("AGENT_TOKEN"), Out: os.Stdout}
	if b.URL == "" {
		return errors.New("AGENT_URL is not set: set it to the URL of the agent server, such as http://agent:7702")
	}
	if path := os.Getenv("AGENT_TOKEN_FILE"); path != "" {
		token, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("AGENT_TOKEN_FILE: %w", err)
		}
		b.Token = strings.TrimSpace(string(token))
	}
	return b.Run(ctx)
}
