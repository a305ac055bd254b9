package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/notebook"
	"bellhop/protocol"
)

// sizedVersion is a version with the lengths of its texts. Lists omit texts beyond
// a budget.
type sizedVersion struct {
	notebook.Version
	size, diffSize int64
}

var versions = table.New("source_versions",
	table.Text("source_id", func(v *sizedVersion) *string { return &v.SourceID }).Key(),
	table.Integer("version", func(v *sizedVersion) *int64 { return &v.Number }).Key(),
	table.Text("code", func(v *sizedVersion) *string { return &v.Code }),
	table.Integer("size", func(v *sizedVersion) *int64 { return &v.size }),
	table.Text("diff", func(v *sizedVersion) *string { return &v.Diff }),
	table.Text("description", func(v *sizedVersion) *string { return &v.Description }),
	table.Text("author", func(v *sizedVersion) *string { return &v.Author }),
	table.Text("message_id", func(v *sizedVersion) *string { return &v.MessageID }),
	verification,
	table.Time("created_at", func(v *sizedVersion) *time.Time { return &v.CreatedAt }),
)

var verification = table.JSONPointer("verification",
	nil, func(v *sizedVersion) **protocol.Verification { return &v.Verification })

const ofNewest = "source_versions JOIN sources ON sources.id = source_versions.source_id AND sources.version = " +
	"source_versions.version"

// Lists first read versions without their texts, then the texts that fit the
// budget.
var (
	heads       = table.New("source_versions", versions.Without("code", "diff")...)
	bodies      = table.New("source_versions", versions.Pick("version", "code", "diff")...)
	sizedHeads  = table.New("source_versions", append(heads.Columns, diffSize)...)
	newestHeads = table.New(ofNewest, heads.Qualified()...)
	newestCodes = table.New(ofNewest, table.New("source_versions", versions.Pick("source_id", "code")...).Qualified()...)

	diffSize = table.Integer("LENGTH(diff)", func(v *sizedVersion) *int64 { return &v.diffSize })
)

func (s *Store) InsertVersion(ctx context.Context, v *notebook.Version) error {
	return s.db.Run(ctx, "Version", v.SourceID, versions.Insert(sizedVersion{Version: *v, size: int64(len(v.Code))}))
}

func (s *Store) Version(ctx context.Context, sourceID string, number int64) (*notebook.Version, error) {
	found, err := database.FindOne(ctx, s.db, versions, "Version", sourceID,
		"WHERE source_id = ? AND version = ?", sourceID, number)
	if err != nil {
		return nil, err
	}
	return &found.Version, nil
}

// Versions implements notebook.SourceStore. The newest versions use the budget
// first.
func (s *Store) Versions(ctx context.Context, sourceID string, budget int64) ([]notebook.Version, error) {
	found, err := database.Find(ctx, s.db, sizedHeads, "Versions of source", sourceID,
		"WHERE source_id = ? ORDER BY version", sourceID)
	if err != nil {
		return nil, err
	}
	complete := len(found) // index of the first version with its texts
	for complete > 0 && budget >= found[complete-1].size+found[complete-1].diffSize {
		complete--
		budget -= found[complete].size + found[complete].diffSize
	}
	list := make([]notebook.Version, len(found))
	for i := range found {
		list[i] = found[i].Version
		list[i].Omitted = i < complete
	}
	if complete == len(found) {
		return list, nil
	}
	texts, err := database.Find(ctx, s.db, bodies, "Versions of source", sourceID,
		"WHERE source_id = ? AND version >= ? ORDER BY version", sourceID, list[complete].Number)
	if err != nil {
		return nil, err
	}
	for i := range min(len(texts), len(list)-complete) {
		list[complete+i].Code, list[complete+i].Diff = texts[i].Code, texts[i].Diff
	}
	return list, nil
}

// chunk keeps lists of ids below the databases' parameter limits.
const chunk = 500

func (s *Store) Newest(ctx context.Context, sources []notebook.Source, budget int64) ([]notebook.Version, error) {
	ids := make([]string, len(sources))
	for i := range sources {
		ids[i] = sources[i].ID
	}
	found, err := s.newest(ctx, newestHeads, ids)
	if err != nil {
		return nil, err
	}
	complete := 0 // number of versions with their code
	for i := range sources {
		if found[ids[i]] == nil {
			return nil, fmt.Errorf("source %s has no version %d", ids[i], sources[i].Version)
		}
		if budget -= found[ids[i]].size; budget >= 0 && complete == i {
			complete++
		}
	}
	codes, err := s.newest(ctx, newestCodes, ids[:complete])
	if err != nil {
		return nil, err
	}
	list := make([]notebook.Version, len(sources))
	for i, id := range ids {
		list[i] = found[id].Version
		list[i].Omitted = i >= complete
		if code := codes[id]; code != nil {
			list[i].Code = code.Code
		}
	}
	return list, nil
}

// newest reads the newest version of each source and returns them by source.
func (s *Store) newest(
	ctx context.Context, t *table.Table[sizedVersion], ids []string,
) (map[string]*sizedVersion, error) {
	all := make(map[string]*sizedVersion, len(ids))
	for part := range slices.Chunk(ids, chunk) {
		found, err := database.Find(ctx, s.db, t, "Versions", len(part), "WHERE source_versions.source_id IN ?", part)
		if err != nil {
			return nil, err
		}
		for i := range found {
			all[found[i].SourceID] = &found[i]
		}
	}
	return all, nil
}

func (s *Store) Unverified(ctx context.Context, limit int) ([]notebook.Unverified, error) {
	found, err := database.Find(ctx, s.db, versions, "Versions", "unverified",
		"WHERE verification IS NULL ORDER BY created_at LIMIT ?", limit)
	if err != nil {
		return nil, err
	}
	unverified := make([]notebook.Unverified, 0, len(found))
	for i := range found {
		v := &found[i].Version
		source, err := database.FindOne(ctx, s.db, sources, "Source", v.SourceID, "WHERE id = ?", v.SourceID)
		if protocol.CodeOf(err) == protocol.CodeNotFound { // deleted meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		unverified = append(unverified, notebook.Unverified{Source: *source, Version: *v})
	}
	return unverified, nil
}

func (s *Store) SetVerification(ctx context.Context, sourceID string, number int64, v *protocol.Verification) error {
	value := verification.Value(&sizedVersion{Version: notebook.Version{Verification: v}})
	return s.db.ExecOne(ctx, "Version", sourceID,
		`UPDATE source_versions SET verification = ? WHERE source_id = ? AND version = ?`,
		value, sourceID, number)
}
