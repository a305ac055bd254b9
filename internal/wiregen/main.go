package main

import (
	"context"
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("o", "", "the file to write; standard output if empty")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "wiregen:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	code, err := Generate(context.Background(), "bellhop/protocol")
	if err != nil {
		return err
	}
	if out == "" {
		_, err = os.Stdout.WriteString(code)
		return err
	}
	return os.WriteFile(out, []byte(code), 0o644) //nolint:gosec // source code, as readable as its neighbours
}
