// Package owner gives the files of a session to the user id of its programs, on a host that runs
// as root. It owns how owners are read, inherited and changed below a directory that programs
// can change at the same time. It does not own which id a session gets.
//
// A host that is not root cannot change owners: then its files stay its own, and Inherit does
// nothing.
package owner
