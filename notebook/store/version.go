package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"bellhop/internal/database"
	"bellhop/notebook"
	"bellhop/protocol"
)

type versionRow struct {
	SourceID     string
	Version      int64
	Code         string
	Size         int64
	Diff         string
	Description  string
	Author       string
	MessageID    string
	Verification *string
	CreatedAt    time.Time
}

func (versionRow) TableName() string { return "source_versions" }

func (r *versionRow) version() (*notebook.Version, error) {
	v := &notebook.Version{
		SourceID: r.SourceID, Number: r.Version, Code: r.Code, Diff: r.Diff, Description: r.Description, Author: r.Author,
		MessageID: r.MessageID, CreatedAt: r.CreatedAt.UTC(),
	}
	if r.Verification == nil {
		return v, nil
	}
	v.Verification = &protocol.Verification{}
	return v, fromJSON("verification", r.SourceID, *r.Verification, v.Verification)
}

func verificationText(v *protocol.Verification) (*string, error) {
	if v == nil {
		return nil, nil //nolint:nilnil // NULL
	}
	text, err := toJSON(v)
	return &text, err
}

// InsertVersion implements notebook.SourceStore.
func (s *Store) InsertVersion(ctx context.Context, v *notebook.Version) error {
	verification, err := verificationText(v.Verification)
	if err != nil {
		return err
	}
	row := versionRow{
		SourceID: v.SourceID, Version: v.Number, Code: v.Code, Size: int64(len(v.Code)), Diff: v.Diff, Description: v.Description,
		Author: v.Author, MessageID: v.MessageID, Verification: verification, CreatedAt: v.CreatedAt.UTC(),
	}
	_, err = s.exec(ctx, "Version", v.SourceID, func(db *gorm.DB) *gorm.DB { return db.Create(&row) })
	return err
}

// Version implements notebook.SourceStore.
func (s *Store) Version(ctx context.Context, sourceID string, number int64) (*notebook.Version, error) {
	var row versionRow
	if err := s.conn(ctx).Where("source_id = ? AND version = ?", sourceID, number).Take(&row).Error; err != nil {
		return nil, database.Fault(err, "Version", sourceID)
	}
	return row.version()
}

// heads are the columns of a version but for what may be large.
const heads = "source_id, version, size, description, author, message_id, verification, created_at"

// Versions implements notebook.SourceStore.
func (s *Store) Versions(ctx context.Context, sourceID string, budget int64) ([]notebook.Version, error) {
	var rows []versionRow
	var sizes []int64
	db := s.conn(ctx).Model(&versionRow{}).Where("source_id = ?", sourceID).Order("version")
	if err := db.Session(&gorm.Session{}).Select(heads).Find(&rows).Error; err != nil {
		return nil, database.Fault(err, "Versions of source", sourceID)
	}
	if err := db.Session(&gorm.Session{}).Select("size + LENGTH(diff)").Scan(&sizes).Error; err != nil {
		return nil, database.Fault(err, "Versions of source", sourceID)
	}
	whole := len(rows) // from here on
	for whole > 0 && len(sizes) == len(rows) && budget >= sizes[whole-1] {
		whole--
		budget -= sizes[whole]
	}
	versions := make([]notebook.Version, len(rows))
	for i := range rows {
		v, err := rows[i].version()
		if err != nil {
			return nil, err
		}
		v.Omitted = i < whole
		versions[i] = *v
	}
	if whole == len(rows) {
		return versions, nil
	}
	var bodies []versionRow
	err := db.Session(&gorm.Session{}).Where("version >= ?", rows[whole].Version).Select("version, code, diff").Find(&bodies).Error
	if err != nil {
		return nil, database.Fault(err, "Versions of source", sourceID)
	}
	for i := range bodies {
		if at := whole + i; at < len(versions) {
			versions[at].Code, versions[at].Diff = bodies[i].Code, bodies[i].Diff
		}
	}
	return versions, nil
}

// chunk keeps lists of ids below the databases' limits.
const chunk = 500

// Newest implements notebook.SourceStore.
func (s *Store) Newest(ctx context.Context, sources []notebook.Source, budget int64) ([]notebook.Version, error) {
	rows := make(map[string]*versionRow, len(sources))
	for part := range slices.Chunk(sources, chunk) {
		var heads []versionRow
		err := s.newest(ctx, idsOf(part)).Select("v.source_id, v.version, v.size, v.description, v.author, v.message_id, v.verification, v.created_at").Find(&heads).Error
		if err != nil {
			return nil, database.Fault(err, "Versions", len(part))
		}
		for i := range heads {
			rows[heads[i].SourceID] = &heads[i]
		}
	}
	var wanted []string
	for i := range sources {
		row := rows[sources[i].ID]
		if row == nil {
			return nil, fmt.Errorf("source %s has no version %d", sources[i].ID, sources[i].Version)
		}
		if budget -= row.Size; budget < 0 {
			break
		}
		wanted = append(wanted, row.SourceID)
	}
	for ids := range slices.Chunk(wanted, chunk) {
		var codes []versionRow
		if err := s.newest(ctx, ids).Select("v.source_id, v.code").Find(&codes).Error; err != nil {
			return nil, database.Fault(err, "Versions", len(ids))
		}
		for i := range codes {
			rows[codes[i].SourceID].Code = codes[i].Code
		}
	}
	versions := make([]notebook.Version, len(sources))
	for i := range sources {
		v, err := rows[sources[i].ID].version()
		if err != nil {
			return nil, err
		}
		v.Omitted = i >= len(wanted)
		versions[i] = *v
	}
	return versions, nil
}

func (s *Store) newest(ctx context.Context, ids []string) *gorm.DB {
	return s.conn(ctx).Table("source_versions AS v").
		Joins("JOIN sources AS s ON s.id = v.source_id AND s.version = v.version").Where("v.source_id IN ?", ids)
}

func idsOf(sources []notebook.Source) []string {
	ids := make([]string, len(sources))
	for i := range sources {
		ids[i] = sources[i].ID
	}
	return ids
}

// Unverified implements notebook.SourceStore.
func (s *Store) Unverified(ctx context.Context, limit int) ([]notebook.Unverified, error) {
	var rows []versionRow
	err := s.conn(ctx).Where("verification IS NULL").Order("created_at").Limit(limit).Find(&rows).Error
	if err != nil {
		return nil, database.Fault(err, "Versions", "unverified")
	}
	unverified := make([]notebook.Unverified, 0, len(rows))
	for i := range rows {
		v, err := rows[i].version()
		if err != nil {
			return nil, err
		}
		var row sourceRow
		err = database.Fault(s.conn(ctx).Where("id = ?", v.SourceID).Take(&row).Error, "Source", v.SourceID)
		if protocol.CodeOf(err) == protocol.CodeNotFound { // deleted meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		source, err := row.source()
		if err != nil {
			return nil, err
		}
		unverified = append(unverified, notebook.Unverified{Source: *source, Version: *v})
	}
	return unverified, nil
}

// SetVerification implements notebook.SourceStore.
func (s *Store) SetVerification(ctx context.Context, sourceID string, number int64, v *protocol.Verification) error {
	text, err := verificationText(v)
	if err != nil {
		return err
	}
	return s.must(ctx, "Version", sourceID, func(db *gorm.DB) *gorm.DB {
		return db.Model(&versionRow{}).Where("source_id = ? AND version = ?", sourceID, number).Update("verification", text)
	})
}
