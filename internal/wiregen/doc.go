// Command wiregen writes the TypeScript side of the contract: it reads package
// protocol and prints its structs as interfaces, its sets of string constants
// as unions and its numbers as constants, with their doc comments.
//
//	go generate ./protocol     writes web/client/src/wire.ts
//	go test ./internal/wiregen fails when that file is stale
//
// It does not decide anything: a shape is changed in protocol. What TypeScript
// needs beyond that (narrower unions, guards) is
// written by hand in web/client/src/contract.ts.
package main
