package broker

import (
	"context"
	"slices"

	"bellhop/protocol"
)

// ContentLink asks hosts for the files of sessions; broker/hosts implements it. CodeMethodNotAllowed: the host shows
// no files, such as a basic one. CodeGone: there is no such file. CodeConflict: it is no regular one.
type ContentLink interface {
	Directory(ctx context.Context, t Target, sessionID, path, after string) (*protocol.FileList, error)
	File(ctx context.Context, t Target, sessionID, path string, offset int64) (*protocol.FileContent, error)
	SearchFiles(ctx context.Context, t Target, sessionID string, q protocol.FileSearch) (*protocol.FileMatches, error)
}

// Directory lists a page of a directory of a task's workspace: what comes after an entry. CodeNoWorkspace: the task
// has none yet.
func (s *Files) Directory(
	ctx context.Context, userID, taskID, path, after string,
) (list *protocol.FileList, err error) {
	if path != "" {
		err = protocol.CheckFilePath(path)
	}
	if err == nil {
		err = s.read(ctx, userID, taskID, func(at *session) error {
			list, err = s.ContentLink.Directory(ctx, at.target, taskID, path, after)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	cleanList(list)
	return list, nil
}

// File reads a file of a task's workspace from an offset on. Its errors are those of Directory.
func (s *Files) File(
	ctx context.Context, userID, taskID, path string, offset int64,
) (file *protocol.FileContent, err error) {
	if err = protocol.CheckFilePath(path); err != nil {
		return nil, err
	}
	err = s.read(ctx, userID, taskID, func(at *session) error {
		file, err = s.ContentLink.File(ctx, at.target, taskID, path, offset)
		return err
	})
	if err != nil {
		return nil, err
	}
	cleanFile(file)
	return file, nil
}

// Search finds lines in the files of a task's workspace. Its errors are those of Directory, and CodeInvalid for a
// search that cannot be understood.
func (s *Files) Search(
	ctx context.Context, userID, taskID string, q protocol.FileSearch,
) (found *protocol.FileMatches, err error) {
	if _, err = q.Compile(); err != nil {
		return nil, err
	}
	err = s.read(ctx, userID, taskID, func(at *session) error {
		found, err = s.ContentLink.SearchFiles(ctx, at.target, taskID, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	cleanMatches(found)
	return found, nil
}

// read asks the host of a task for files of its session.
func (s *Files) read(ctx context.Context, userID, taskID string, ask func(at *session) error) error {
	task, err := s.Sessions.agentTask(ctx, userID, taskID)
	if err != nil {
		return err
	}
	if task.OpenTurn == "" && task.LastTurn == nil || s.Sessions.Targets.missing(task) {
		return errNoTurnYet()
	}
	at, err := s.Sessions.find(ctx, userID, taskID)
	if err != nil {
		return err
	}
	release, err := s.searches.acquire(ctx, userID, searchesOfUser)
	if err != nil {
		return err
	}
	defer release()
	err = ask(at)
	if protocol.CodeOf(err) == protocol.CodeMethodNotAllowed {
		return &protocol.Error{
			Code: protocol.CodeBadGateway, Message: "The agent host shows no files", Err: err,
			Hint: "It is a basic agent server: look at the files there",
		}
	}
	return err
}

// cleanList limits and sanitizes a host's list.
func cleanList(list *protocol.FileList) {
	if len(list.Entries) > protocol.DirectoryPage {
		list.Entries, list.Cut, list.Next = list.Entries[:protocol.DirectoryPage], true, ""
	}
	kinds := []protocol.FileKind{protocol.FileRegular, protocol.FileDirectory, protocol.FileLink}
	for i := range list.Entries {
		entry := &list.Entries[i]
		entry.Name, entry.Target = protocol.SanitizeText(entry.Name), protocol.SanitizeText(entry.Target)
		if !slices.Contains(kinds, entry.Kind) {
			entry.Kind = protocol.FileOther
		}
	}
	list.Path, list.Next = protocol.SanitizeText(list.Path), protocol.SanitizeText(list.Next)
}

// cleanFile sanitizes a host's file. An image of a type that browsers could run is binary.
func cleanFile(file *protocol.FileContent) {
	isImage := file.Kind == protocol.ContentImage && slices.Contains(protocol.ImageTypes(), file.MediaType)
	switch {
	case file.Kind == protocol.ContentText:
		file.Data, file.MediaType = "", "text/plain"
	case isImage:
		file.Text, file.More = "", false
	default:
		file.Kind, file.Text, file.Data, file.More = protocol.ContentBinary, "", "", false
	}
	file.Path, file.Text = protocol.SanitizeText(file.Path), protocol.SanitizeText(file.Text)
	file.MediaType, file.Note = cleanText(file.MediaType), cleanText(file.Note)
	file.More = file.More && file.End > file.Offset // a client would ask for the same piece for ever
}

// cleanMatches limits and sanitizes what a host has found.
func cleanMatches(found *protocol.FileMatches) {
	if len(found.Matches) > protocol.MaxMatches {
		found.Matches, found.More = found.Matches[:protocol.MaxMatches], true
	}
	for i := range found.Matches {
		m := &found.Matches[i]
		m.Path, m.Before = protocol.SanitizeText(m.Path), protocol.SanitizeText(m.Before)
		m.Match, m.After = protocol.SanitizeText(m.Match), protocol.SanitizeText(m.After)
	}
}
