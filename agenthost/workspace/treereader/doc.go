// Package treereader reads a work tree while programs change it, and tells what differs from an earlier reading.
//
// It owns how names in a work tree are opened, which files git would track, and the form in which their content
// reaches the host. It does not own git's objects, the snapshots that the host makes of an answer, or the sandbox
// in which a reading runs.
//
//	host                                     reader (in a sandbox of its own)
//	Request, known files  ─── stdin ───►     Serve walks the tree
//	Answer.Next           ◄── stdout ───     facts: files, deletions, what was left out
//
// The reader trusts nothing in the tree. It opens every name relative to the descriptor of its directory, without
// following links and without waiting, and uses the descriptor only if it is a directory or a regular file. So what
// it reads was in the tree at the moment of the read, whatever programs exchange meanwhile. It never resolves a path
// of more than one element, except for that of the work tree itself.
//
// Of the repository in the tree it uses the tracked names, commits of repositories inside, and entries that a sparse
// checkout leaves without files. It does not use times, sizes and the flag assume-unchanged of the index, nor
// .git/info/exclude. A file that is present is read, whatever the index says of it.
//
// The host trusts nothing in an answer: Answer checks names, modes, numbers and lengths, and takes no more than the
// limits of the request allow.
package treereader
