package broker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"bellhop/protocol"
)

// DiffHash is the prefix of the body hash of every message that holds a diff.
const DiffHash = "diff:"

// Limits on the size of a host's diff.
const (
	maxDiffFiles = 5000
	maxDiffPath  = 4096
	maxObjectID  = 64 // bytes of a SHA-256 in hexadecimal
)

// diffsOfUser is how many diffs one user's requests compute at a time. A diff reads all files of
// a session, and hosts compute few at once: the others wait here, not before other users' diffs.
const diffsOfUser = 2

// Diff asks the task's host for the changes that its session made, and stores them
// as a message with a DIFF artifact. If the diff equals the last one, the response
// names the position of that message instead. A basic host has no diffs.
// CodeConflict: the host has nothing to compare with, or the task has no session
// yet. CodeBadGateway: the host cannot be reached.
func (s *Sessions) Diff(ctx context.Context, userID, taskID string) (*protocol.DiffResponse, error) {
	at, err := s.find(ctx, userID, taskID)
	if err != nil {
		return nil, err
	}
	release, err := s.diffs.acquire(ctx, userID, diffsOfUser)
	if err != nil {
		return nil, err
	}
	diff, err := s.Link.Diff(ctx, at.target, taskID)
	release()
	if err != nil {
		return noDiff(at.task, err)
	}
	cleanDiff(diff)
	if len(diff.Files) == 0 && len(diff.LeftOut) == 0 {
		return &protocol.DiffResponse{Success: true, NoDiffs: true, Snapshot: diff.Snapshot, Head: diff.Head}, nil
	}
	return s.storeDiff(ctx, userID, taskID, diff)
}

// noDiff returns the response or the error for a diff that a host refused. A refusal of
// a basic host means that it supports no diffs; that is a response, not an error.
func noDiff(task *Task, err error) (*protocol.DiffResponse, error) {
	code := protocol.CodeOf(err)
	noSession := code == protocol.CodeNotFound && (task.HostEvents || task.LastTurn == nil && task.OpenTurn == "")
	switch {
	case noSession:
		return nil, &protocol.Error{
			Code: protocol.CodeConflict, Message: "The agent host has no session of this task",
			Hint: "Send a message first: the diff is against what the session began with", Err: err,
		}
	case !task.HostEvents && (code == protocol.CodeNotFound || code == protocol.CodeMethodNotAllowed):
		return &protocol.DiffResponse{Success: true, NoDiffs: true}, nil
	case code == protocol.CodeMethodNotAllowed:
		return nil, &protocol.Error{
			Code: protocol.CodeBadGateway, Message: "The agent host makes no diffs",
			Hint: "Only hosts with the capability diff do", Err: err,
		}
	}
	return nil, err
}

// cleanDiff limits and sanitizes a host's diff before it is stored.
func cleanDiff(d *protocol.Diff) {
	d.Base = ""
	d.Snapshot, d.Head = protocol.CutText(cleanText(d.Snapshot), maxObjectID), protocol.CutText(cleanText(d.Head), maxObjectID)
	d.Patch = protocol.SanitizeText(d.Patch)
	d.Fit()
	total := d.Counts()
	d.Files = slices.DeleteFunc(d.Files, func(f protocol.DiffFile) bool {
		return f.Path == "" || len(f.Path) > maxDiffPath || len(f.OldPath) > maxDiffPath || len(f.Status) > 32
	})
	d.Files = d.Files[:min(len(d.Files), maxDiffFiles)]
	if d.Total = nil; total.Files > len(d.Files) {
		d.Truncated, d.Total = true, &total
	}
	d.InnerRepositories, d.InnerRepositoryCount = cleanInner(d.InnerRepositories, d.InnerRepositoryCount)
	d.LeftOut = d.LeftOut[:min(len(d.LeftOut), protocol.MaxLeftOut)]
	d.LeftOutCount = max(d.LeftOutCount, len(d.LeftOut))
	for i := range d.LeftOut {
		left := &d.LeftOut[i]
		left.Path = protocol.CutText(protocol.SanitizeText(left.Path), protocol.MaxLeftOutPath)
		left.Reason = protocol.CutText(protocol.SanitizeText(left.Reason), protocol.MaxLeftOutPath)
	}
	for i := range d.Files {
		f := &d.Files[i]
		f.Path, f.OldPath = protocol.SanitizeText(f.Path), protocol.SanitizeText(f.OldPath)
		f.Status = protocol.DiffStatus(protocol.SanitizeText(string(f.Status)))
	}
}

// cleanInner limits and sanitizes a host's names of repositories inside a workspace.
func cleanInner(names []string, count int) ([]string, int) {
	names = names[:min(len(names), protocol.MaxInner)]
	for i, name := range names {
		names[i] = protocol.CutText(protocol.SanitizeText(name), maxDiffPath)
	}
	return names, max(count, len(names))
}

// hashDiff is the same for diffs that show the same, whatever they were made from: after a commit nothing else changed.
func hashDiff(diff *protocol.Diff) (string, error) {
	shown := *diff
	shown.Snapshot, shown.Head = "", ""
	content, err := protocol.Marshal(&shown)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return DiffHash + hex.EncodeToString(sum[:]), nil
}

// storeDiff adds the message, unless the last diff was the same.
func (s *Sessions) storeDiff(
	ctx context.Context, userID, taskID string, diff *protocol.Diff,
) (*protocol.DiffResponse, error) {
	hash, err := hashDiff(diff)
	if err != nil {
		return nil, err
	}
	content, err := protocol.Marshal(diff)
	if err != nil {
		return nil, err
	}
	response := &protocol.DiffResponse{Success: true, Snapshot: diff.Snapshot, Head: diff.Head}
	_, err = s.Updater.updateTask(ctx, userID, taskID, func(ctx context.Context, tx *taskTx) error {
		message, err := s.Store.LastDiff(ctx, taskID)
		if err == nil && message.BodyHash == hash {
			response.NoDiffs, response.UnchangedSince = true, message.Seq
			return nil
		}
		if err != nil && protocol.CodeOf(err) != protocol.CodeNotFound {
			return err
		}
		message = tx.addMessage(Message{BodyHash: hash, Message: protocol.Message{
			TurnID: tx.task.currentTurn(), Role: protocol.RoleAssistant, Status: protocol.MessageSent,
			Artifacts: []protocol.Artifact{{ID: protocol.NewID(), Type: protocol.ArtifactDiff, Content: content}},
		}})
		response.Message = &message.Message
		return nil
	})
	if err != nil {
		return nil, err
	}
	return response, nil
}

// currentTurn returns the open turn, else the last one.
func (t *Task) currentTurn() string {
	if t.OpenTurn == "" && t.LastTurn != nil {
		return t.LastTurn.ID
	}
	return t.OpenTurn
}
