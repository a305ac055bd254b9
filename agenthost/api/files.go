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

type searchFilesRequest struct {
	ID     string `param:"id" json:"-"`
	Q      string `query:"q" json:"-"`
	Regexp bool   `query:"regexp" json:"-"`
	Case   bool   `query:"case" json:"-"`
}

// directory lists a directory of the session's workspace.
func (a *API) directory(ctx context.Context, req *directoryRequest) (*protocol.FileList, error) {
	return a.Host.Directory(ctx, req.ID, req.Path, req.After)
}

// file reads a file of the session's workspace. The answer is JSON, which no browser runs.
func (a *API) file(ctx context.Context, req *fileRequest) (*protocol.FileContent, error) {
	return a.Host.File(ctx, req.ID, req.Path, req.Offset)
}

// searchFiles finds lines in the files of the session's workspace.
func (a *API) searchFiles(ctx context.Context, req *searchFilesRequest) (*protocol.FileMatches, error) {
	return a.Host.SearchFiles(ctx, req.ID, protocol.FileSearch{Query: req.Q, Regexp: req.Regexp, Case: req.Case})
}
