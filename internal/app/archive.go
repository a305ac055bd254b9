package app

import (
	"context"
	"io"
	"strconv"

	"bellhop/broker"
	"bellhop/internal/archive"
	"bellhop/migrations"
	"bellhop/protocol"
)

// Export writes an archive of the tasks and notebooks of users; none: of all. version is that of the
// program. Errors are those of archive.Export. The audit log gets an entry.
func (a *Admin) Export(
	ctx context.Context, version string, users []broker.User, out io.Writer,
) (archive.Counts, error) {
	options, err := a.archiveOptions(ctx)
	if err != nil {
		return archive.Counts{}, err
	}
	if len(users) == 0 {
		if users, err = a.allUsers(ctx); err != nil {
			return archive.Counts{}, err
		}
	}
	var owners []archive.User
	for i := range users {
		owners = append(owners, archive.User{ID: users[i].ID, Email: users[i].Email})
	}
	options.Version = version
	counts, err := archive.Export(ctx, options, owners, out)
	if err != nil {
		return counts, err
	}
	return counts, a.auditArchive(ctx, protocol.AuditDataExported, counts)
}

// Import stores the tasks and notebooks of an archive for the users with the same e-mail addresses, or
// all for the user as. Errors are those of archive.Import. The audit log gets an entry.
func (a *Admin) Import(
	ctx context.Context, file io.ReadSeeker, as *broker.User, hostID string,
) (archive.Counts, error) {
	options, err := a.archiveOptions(ctx)
	if err != nil {
		return archive.Counts{}, err
	}
	var counts archive.Counts
	err = a.Store.Write(ctx, func(ctx context.Context) (err error) {
		counts, err = archive.Import(ctx, archive.Target{
			Options: options, Sealer: a.sealer, HostID: hostID,
			Users: func(ctx context.Context, email string) (string, error) { return a.ownerOf(ctx, as, email) },
		}, file)
		if err != nil {
			return err
		}
		return a.auditArchive(ctx, protocol.AuditDataImported, counts)
	})
	return counts, err
}

func (a *Admin) archiveOptions(ctx context.Context) (archive.Options, error) {
	list, err := a.db.MigrationStatus(ctx, migrations.For(a.db.Dialect()))
	if err != nil {
		return archive.Options{}, err
	}
	return archive.Options{DB: a.db, Schema: list[len(list)-1].Version, Now: a.config.Now()}, nil
}

func (a *Admin) allUsers(ctx context.Context) ([]broker.User, error) {
	const page = 500
	var all []broker.User
	for after := ""; ; after = all[len(all)-1].Email {
		users, err := a.Store.Users(ctx, after, page)
		if err != nil {
			return nil, err
		}
		if all = append(all, users...); len(users) < page {
			return all, nil
		}
	}
}

func (a *Admin) ownerOf(ctx context.Context, as *broker.User, email string) (string, error) {
	if as != nil {
		return as.ID, nil
	}
	user, err := a.Store.UserByEmail(ctx, email)
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return "", &protocol.Error{
			Code:    protocol.CodeNotFound,
			Message: "The archive has tasks of " + email + ", who has no account here; nothing was imported",
			Hint:    "Create it with 'bellhop users add', or give everything to one user with --as",
		}
	}
	if err != nil {
		return "", err
	}
	return user.ID, nil
}

func (a *Admin) auditArchive(ctx context.Context, action protocol.AuditAction, counts archive.Counts) error {
	return broker.Audited(ctx, a.Store, a.config.Now, func(context.Context) (*broker.Act, error) {
		return &broker.Act{
			Action: action, Subject: protocol.AuditSubject{Kind: protocol.AuditOfData},
			Detail: map[string]string{
				"users": strconv.Itoa(counts.Users), "tasks": strconv.Itoa(counts.Tasks), "sources": strconv.Itoa(counts.Sources),
			},
		}, nil
	})
}
