package broker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"

	"bellhop/internal/lazyregexp"
	"bellhop/protocol"
)

var artifactType = lazyregexp.New(`^[A-Z][A-Z0-9_]{0,31}$`)

// messageBody is the validated content of a check-in.
type messageBody struct {
	artifacts []protocol.Artifact
	hash      string // of message and artifacts
}

// checkMessage validates the message and the artifacts, and gives the artifacts ids. The
// ids are not part of the hash, so that a repeated check-in has the same one.
func checkMessage(req *protocol.CheckInRequest) (*messageBody, error) {
	invalid := func(format string, args ...any) (*messageBody, error) {
		return nil, protocol.Errorf(protocol.CodeInvalid, format, args...)
	}
	switch {
	case req.Message == "" && len(req.Artifacts) == 0:
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "message is required", Hint: "It may be empty only beside an artifact",
		}
	case len(req.Message) > protocol.MaxMessage:
		return invalid("message is longer than 1 MiB")
	case utf8.RuneCountInString(req.MessageID) > protocol.MaxMessageID:
		return invalid("messageId is longer than %d characters", protocol.MaxMessageID)
	case len(req.Artifacts) > protocol.MaxArtifacts:
		return invalid("There are more than %d artifacts", protocol.MaxArtifacts)
	}
	body := &messageBody{artifacts: make([]protocol.Artifact, len(req.Artifacts))}
	sum := sha256.New()
	sum.Write([]byte(req.Message))
	for i, a := range req.Artifacts {
		switch {
		case !artifactType.MatchString(a.Type):
			return invalid("artifacts[%d].type must match [A-Z][A-Z0-9_]{0,31}", i)
		case a.Type == protocol.ArtifactToolUse || a.Type == protocol.ArtifactDiff:
			return invalid("artifacts[%d].type %s is reserved", i, a.Type)
		case len(a.Content) > protocol.MaxArtifact:
			return invalid("artifacts[%d].content is larger than 256 KiB", i)
		}
		if len(a.Content) == 0 {
			a.Content = json.RawMessage("null")
		}
		canonical, err := protocol.Canonical(a.Content)
		if err != nil {
			return nil, err
		}
		body.artifacts[i] = protocol.Artifact{ID: protocol.NewID(), Type: a.Type, Content: a.Content}
		sum.Write([]byte("\x00" + a.Type + "\x00"))
		sum.Write(canonical)
	}
	body.hash = hex.EncodeToString(sum.Sum(nil))
	return body, nil
}
