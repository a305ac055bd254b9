// Package treereader reads a work tree while programs change it, and tells what differs from an earlier reading. It also
// changes named files of a tree, if they are as the host expects.
//
// It owns how names in a work tree are opened, which files git would track, and the form in which their content
// reaches the host, and comes from it. It does not own git's objects, the snapshots that the host makes of an answer, or
// the sandbox in which a reading runs.
//
//	host                                     reader (in a sandbox of its own)
//	Request, known files  ─── stdin ───►     Serve walks the tree
//	Answer.Next           ◄── stdout ───     facts: files, deletions, what was left out
//
//	host                                     reader (as before)
//	Tree                  ─── stdin ───►     ServeTree uses the names that it is asked about, one after another
//	Tree.List, Tree.Read  ◄── stdout ───     entries, content, what is ignored, or a Failure
//
//	host                                     writer (in a sandbox as the reader's, that can change the tree)
//	WriteChanges          ─── stdin ───►     ServeChanges makes all changes, or none
//	ReadOutcome           ◄── stdout ───     done, or a refusal
//
// The reader trusts nothing in the tree. It opens every name relative to the descriptor of its directory, without
// following links and without waiting, and uses the descriptor only if it is a directory or a regular file. So what
// it reads was in the tree at the moment of the read, whatever programs exchange meanwhile. It never resolves a path
// of more than one element, except for that of the work tree itself.
//
// The writer opens names in the same way. It compares all files with what the host expects, writes the new ones beside
// them, compares again, and renames. A temporary file has a name that the next writer knows. Git's lock is a second name
// of the temporary file, so the next writer also knows the lock of one that was killed.
//
// Of the repository in the tree it uses the tracked names, commits of submodules, and entries that a sparse
// checkout leaves without files. It does not use times, sizes and the flag assume-unchanged of the index, nor
// .git/info/exclude. A file that is present is read, whatever the index says of it.
//
// The host trusts nothing in an answer: Answer checks names, modes, numbers and lengths, and takes no more than the
// limits of the request allow.
package treereader
