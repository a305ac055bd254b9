// Package client talks to a broker and to agent hosts as a user does: signing
// in, tasks, check-ins, and above all the stream of a turn, which it reads from
// the host to its end whatever happens to the connection in between. A
// Transcript folds a stream's parts into what is to be shown.
//
//	c := client.New(url, client.Options{Token: token})
//	stream, err := c.Send(ctx, &protocol.CheckInRequest{TaskID: id, Message: "list"})
//	for event, err := range stream.Events(ctx) { … }
//
// Answers that are errors are *Error, which names the server, never a token, and
// unwraps to the *protocol.Error that the server sent. The package owns no
// state but cookies and the position in streams.
package client
