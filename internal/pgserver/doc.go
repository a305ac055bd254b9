// Package pgserver runs throwaway PostgreSQL servers from the machine's binaries, on a unix
// socket in a temporary folder and on loopback if a port is given.
//
// As root the programs run as user postgres. A server ends with the process that started it,
// however that ends. Contents and replication are the caller's.
package pgserver
