// Package archive writes the tasks and notebooks of users as JSON lines, and reads such a file into
// another installation: from the embedded database into PostgreSQL, or between two servers. The file
// has rows of the tables as they are, without secrets, hosts and webhooks. It is for a database of the
// same version. Package app opens the databases; users' accounts are not part of an archive.
package archive
