package owner

import "io/fs"

// ownerOf knows no owner: Windows has no numbers of users, and CanGive is false there.
func ownerOf(fs.FileInfo) (id ID, known bool) { return ID{}, false }

func namesOf(fs.FileInfo) (inode, uint64) { return inode{}, 1 }
