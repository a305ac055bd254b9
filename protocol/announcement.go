package protocol

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Announcement is a notice of an administrator to every user: consoles show it, and hosts show
// it to the clients of their headless interface.
type Announcement struct {
	ID        string            `json:"announcementId"`
	Text      string            `json:"text"`
	Level     AnnouncementLevel `json:"level"`
	CreatedAt time.Time         `json:"createdAt"`
	ExpiresAt time.Time         `json:"expiresAt"` // the announcement is not shown after it
}

// AnnouncementLevel is how urgent an announcement is.
type AnnouncementLevel string

// Levels of an announcement. They are levels of a status line, too.
const (
	AnnouncementInfo    AnnouncementLevel = "info"
	AnnouncementSuccess AnnouncementLevel = "success"
	AnnouncementWarning AnnouncementLevel = "warning"
	AnnouncementError   AnnouncementLevel = "error"
)

// AnnounceRequest is the body of POST /api/announcements. With an AnnouncementID the request can
// be repeated. ExpiresIn is in seconds.
type AnnounceRequest struct {
	Text           string            `json:"text"`
	Level          AnnouncementLevel `json:"level,omitempty"`     // "" = info
	ExpiresIn      int64             `json:"expiresIn,omitempty"` // 0 = a day
	AnnouncementID string            `json:"announcementId,omitempty"`
}

// AnnouncementList is the response to GET /api/announcements: the active ones, the oldest
// first.
type AnnouncementList struct {
	Announcements []Announcement `json:"announcements"`
}

// HostAnnouncements is the body of PUT /announcements of an agent host: all announcements of a
// broker. They replace those that the broker sent before.
type HostAnnouncements struct {
	BrokerID      string         `json:"brokerId"`
	Announcements []Announcement `json:"announcements"`
}

// HostAnnouncementsResponse is the host's response to PUT /announcements.
type HostAnnouncementsResponse struct {
	Success  bool   `json:"success"`
	BrokerID string `json:"brokerId"`
}

// Limits of announcements.
const (
	MaxAnnouncementText = 500 // characters of an announcement's text
	MaxAnnouncements    = 20  // announcements that may be active at the same time
	maxAnnouncementID   = 64
)

// Lives of announcements, in seconds.
const (
	MinAnnouncementLife     = 10
	DefaultAnnouncementLife = 24 * 60 * 60
	MaxAnnouncementLife     = 30 * 24 * 60 * 60
)

// CheckAnnouncement checks id, text and level of an announcement.
func CheckAnnouncement(a *Announcement) error {
	switch {
	case strings.TrimSpace(a.Text) == "":
		return Errorf(CodeInvalid, "text is required")
	case utf8.RuneCountInString(a.Text) > MaxAnnouncementText:
		return Errorf(CodeInvalid, "text is longer than %d characters", MaxAnnouncementText)
	case SanitizeText(a.Text) != a.Text || strings.ContainsFunc(a.Text, isControl):
		return Errorf(CodeInvalid, "text has control characters other than line feeds")
	case a.ID == "" || len(a.ID) > maxAnnouncementID || strings.ContainsFunc(a.ID, notInID):
		return Errorf(CodeInvalid, "announcementId must have 1 to %d letters, digits, hyphens or underscores",
			maxAnnouncementID)
	}
	switch a.Level {
	case AnnouncementInfo, AnnouncementSuccess, AnnouncementWarning, AnnouncementError:
		return nil
	}
	return Errorf(CodeInvalid, `level must be "info", "success", "warning" or "error"`)
}

func isControl(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }

func notInID(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
}
