// Package client talks to a broker and to agent hosts as a user does: it signs in, manages
// tasks, checks messages in and reads the stream of a turn. It reconnects until the turn ends.
// A Transcript turns a stream's parts into blocks that can be displayed.
//
//	c := client.New(url, client.Options{Token: token})
//	stream, err := c.Send(ctx, &protocol.CheckInRequest{TaskID: id, Message: "list"})
//	for event, err := range stream.Events(ctx) { … }
//
// Error responses are *Error, which names the server but never a token, and unwraps to the
// *protocol.Error that the server sent. The package keeps no state but cookies and the position
// in streams.
package client
