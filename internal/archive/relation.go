package archive

// relation is a table with rows that belong to a user, or to a row of another relation. In an archive
// each row follows the one that it belongs to, so the column owner is left out.
type relation struct {
	table string
	owner string // the column that names the owner: the user, or a row of the relation above
	key   string // the column of the owner's row that it has the value of
	where string // a condition, or ""
	order string

	// absent are the columns that archives do not have, with their value in the new installation.
	absent map[string]any
	parts  []*relation // those whose rows belong to a row of this one
}

// made is the value of a column that differs between installations.
type made int

const (
	byDatabase  made = iota // the database assigns it
	hostOrNull              // the host that Import was called with
	secret                  // a new one, sealed
	pausedQueue             // stopped if messages are queued, until a person resumes the queue
)

// unsearched leaves the words of messages to the broker, which adds them again (broker/store/index.go).
var unsearched = map[string]any{"words": nil}

// ofUsers lists what archives hold, each table after those that it refers to.
var ofUsers = []*relation{
	{
		table: "tasks", owner: "user_id", key: "id", where: "deleted_at IS NULL", order: "id",
		absent: map[string]any{
			"no": byDatabase, "host_id": hostOrNull, "webhook_secret": secret,
			"agent_password": nil, "previous_password": nil, "previous_until": nil, "deleted_at": nil,
			"words": nil, "active_slot": byDatabase, "changed_slot": byDatabase, "state": byDatabase,
			"queue_paused": pausedQueue, "queue_now": "", "workspace": "",
		},
		parts: []*relation{
			{table: "turns", owner: "task_id", key: "id", order: "id"},
			{table: "interactions", owner: "task_id", key: "id", order: "id", absent: map[string]any{"user_id": byDatabase}},
			{table: "queued_messages", owner: "task_id", key: "id", order: "position, id"},
			{
				table: "log", owner: "task_no", key: "no", order: "created_at, epoch, event_seq, seq, event_id",
				absent: unsearched,
			},
			{table: "change_ranges", owner: "task_no", key: "no", order: "rev"},
		},
	},
	// The addresses of webhooks and their endpoints, which have secrets, stay behind: agents ask for
	// new messages until they set a webhook again.
	{
		table: "agent_sessions", owner: "user_id", key: "id",
		order: "id", absent: map[string]any{"webhook_url": "", "endpoint_id": ""},
	},
	{table: "notebooks", owner: "user_id", key: "id", order: "id"},
	{
		table: "sources", owner: "user_id", key: "id", order: "id",
		parts: []*relation{
			{table: "source_versions", owner: "source_id", key: "id", order: "version"},
			{table: "source_messages", owner: "source_id", key: "id", order: "seq"},
		},
	},
}

// isAbsent reports whether archives lack a column.
func (r *relation) isAbsent(column string) bool {
	_, absent := r.absent[column]
	return absent || column == r.owner
}
