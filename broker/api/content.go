package api

import (
	"context"

	"bellhop/protocol"
)

type directoryRequest struct {
	ID    string `param:"id" json:"-"`
	Path  string `query:"path" json:"-"`
	After string `query:"after" json:"-"`
}

type fileRequest struct {
	ID     string `param:"id" json:"-"`
	Path   string `query:"path" json:"-"`
	Offset int64  `query:"offset" json:"-"`
}

type searchTaskRequest struct {
	ID     string `param:"id" json:"-"`
	Q      string `query:"q" json:"-"`
	Regexp bool   `query:"regexp" json:"-"`
	Case   bool   `query:"case" json:"-"`
}

// taskDirectory lists a directory of the task's workspace.
func (a *API) taskDirectory(ctx context.Context, req *directoryRequest) (*protocol.FileList, error) {
	return a.Files.Directory(ctx, a.Auth.Caller(ctx).UserID, req.ID, req.Path, req.After)
}

// taskFile reads a file of the task's workspace. The answer is JSON, which no browser runs.
func (a *API) taskFile(ctx context.Context, req *fileRequest) (*protocol.FileContent, error) {
	return a.Files.File(ctx, a.Auth.Caller(ctx).UserID, req.ID, req.Path, req.Offset)
}

// searchTask finds lines in the files of the task's workspace.
func (a *API) searchTask(ctx context.Context, req *searchTaskRequest) (*protocol.FileMatches, error) {
	return a.Files.Search(ctx, a.Auth.Caller(ctx).UserID, req.ID, protocol.FileSearch{
		Query: req.Q, Regexp: req.Regexp, Case: req.Case,
	})
}
