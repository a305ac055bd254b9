// Package treesnapshot makes snapshots of a work tree from what the tree reader tells of it.
//
// It owns a store for each work tree: a repository that only the host writes, and what the host knows of the tree's
// files. It does not own how the tree is read (package treereader), where the reader runs, nor who may take a snapshot.
//
// A snapshot is a commit of the store's repository. Its id names a state of the tree: the same state has the same id.
// Git runs on copies in the store, and opens neither the work tree nor the repository in it.
package treesnapshot
