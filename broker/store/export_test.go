package store

// WordKey is what each word of a user's texts begins with.
var WordKey = wordKey
