package protocol

import "time"

// AuditAction names an act in the audit log. The part before the point is its group.
type AuditAction string

// Acts in the audit log.
const (
	AuditSignIn         AuditAction = "sign-in"
	AuditSignInFailed   AuditAction = "sign-in.failed"
	AuditSignInLink     AuditAction = "sign-in.link"     // a one-time link was made
	AuditSignInEnded    AuditAction = "sign-in.ended"    // by another sign-in of the user, or by an administrator
	AuditSignInPassword AuditAction = "sign-in.password" // the password was right, the code was missing
	AuditSignOut        AuditAction = "sign-out"
	AuditTokenCreated   AuditAction = "token.created"
	AuditTokenRevoked   AuditAction = "token.revoked"
	AuditUserCreated    AuditAction = "user.created"
	AuditUserPassword   AuditAction = "user.password"
	AuditUserDisabled   AuditAction = "user.disabled"
	AuditUserEnabled    AuditAction = "user.enabled"
	AuditUserDeleted    AuditAction = "user.deleted"
	AuditUserErased     AuditAction = "user.erased" // the last row of a deleted user was removed
	AuditFactorEnabled  AuditAction = "second-factor.enabled"
	AuditFactorDisabled AuditAction = "second-factor.disabled" // by the user, with a code
	AuditFactorReset    AuditAction = "second-factor.reset"    // by an administrator or the operator
	AuditFactorCodes    AuditAction = "second-factor.codes"    // new recovery codes replaced the former ones
	AuditHostCreated    AuditAction = "host.created"
	AuditHostChanged    AuditAction = "host.changed"
	AuditHostRemoved    AuditAction = "host.removed"
	AuditHostReconciled AuditAction = "host.reconciled"
	AuditHostInstalled  AuditAction = "host.installed" // an administrator had the host install an agent's program
	AuditHostCancelled  AuditAction = "host.cancelled" // an administrator ended such an installation
	AuditTaskAdopted    AuditAction = "task.adopted"
	AuditTaskAnswered   AuditAction = "task.answered"  // a person allowed or denied a tool call, or answered a question
	AuditTaskMode       AuditAction = "task.mode"      // how much a person wants to be asked about
	AuditTaskCommitted  AuditAction = "task.committed" // a person had the host commit the task's changes
	AuditTaskDiscarded  AuditAction = "task.discarded" // a person had the host discard changes of files
	AuditTaskFetched    AuditAction = "task.fetched"   // a person had the host bring the remote's commits into the clone
	AuditTaskPushed     AuditAction = "task.pushed"    // a person had the host push the task's branch
	AuditTaskRequested  AuditAction = "task.requested" // a person had the host open or change a pull request
	AuditTaskExpired    AuditAction = "task.expired"   // an archived task was deleted by its retention
	AuditForgeAdded     AuditAction = "forge-token.added"
	AuditForgeRemoved   AuditAction = "forge-token.removed"
	AuditShareCreated   AuditAction = "share.created" // a user made a link to the transcript of a task
	AuditShareRevoked   AuditAction = "share.revoked"
	AuditWebhookRotated AuditAction = "webhook.rotated" // the secret that signs what a webhook gets was replaced
	// A page shows a terminal in the workspace of a task, and does not any more.
	AuditTerminalOpened AuditAction = "task.terminal-opened"
	AuditTerminalClosed AuditAction = "task.terminal-closed"
	// A browser was added to those that get notifications, or removed.
	AuditNotificationsOn  AuditAction = "notifications.on"
	AuditNotificationsOff AuditAction = "notifications.off"
	AuditKeysRotated      AuditAction = "keys.rotated" // secrets are sealed with the present key of the keyset
	AuditExported         AuditAction = "audit.exported"
	AuditDataExported     AuditAction = "data.exported" // tasks and notebooks were written to an archive
	AuditDataImported     AuditAction = "data.imported"
)

// AuditActions lists every act.
func AuditActions() []AuditAction {
	return []AuditAction{
		AuditSignIn, AuditSignInFailed, AuditSignInLink, AuditSignInEnded, AuditSignInPassword, AuditSignOut,
		AuditTokenCreated, AuditTokenRevoked, AuditUserCreated, AuditUserPassword, AuditUserDisabled, AuditUserEnabled,
		AuditUserDeleted, AuditUserErased, AuditFactorEnabled, AuditFactorDisabled, AuditFactorReset, AuditFactorCodes,
		AuditHostCreated, AuditHostChanged, AuditHostRemoved, AuditHostReconciled,
		AuditHostInstalled, AuditHostCancelled,
		AuditTaskAdopted, AuditTaskAnswered, AuditTaskMode, AuditTaskCommitted, AuditTaskDiscarded,
		AuditTaskFetched, AuditTaskPushed, AuditTaskRequested, AuditTaskExpired, AuditTerminalOpened,
		AuditTerminalClosed, AuditShareCreated,
		AuditShareRevoked, AuditForgeAdded, AuditForgeRemoved, AuditWebhookRotated, AuditNotificationsOn,
		AuditNotificationsOff, AuditKeysRotated, AuditExported, AuditDataExported, AuditDataImported,
	}
}

// AuditActorKind says what kind of caller acted.
type AuditActorKind string

// Kinds of actors.
const (
	AuditByUser     AuditActorKind = "user"     // a person, or a program with one of their tokens
	AuditByOperator AuditActorKind = "operator" // a command that has the database and the keyset
	AuditByHost     AuditActorKind = "host"     // a person at an agent host, past the broker
	AuditByVisitor  AuditActorKind = "visitor"  // a caller who is not signed in
	AuditByBroker   AuditActorKind = "broker"   // the broker itself
)

// AuditSubjectKind says what an act concerns.
type AuditSubjectKind string

// Kinds of subjects.
const (
	AuditOfUser    AuditSubjectKind = "user"
	AuditOfToken   AuditSubjectKind = "token"
	AuditOfHost    AuditSubjectKind = "host"
	AuditOfTask    AuditSubjectKind = "task"
	AuditOfWebhook AuditSubjectKind = "webhook"
	AuditOfKeyset  AuditSubjectKind = "keyset"
	AuditOfLog     AuditSubjectKind = "audit"
	AuditOfData    AuditSubjectKind = "data"
)

// AuditActor is who acted.
type AuditActor struct {
	Kind    AuditActorKind `json:"kind"`
	ID      string         `json:"id,omitempty"`      // of the user
	Email   string         `json:"email,omitempty"`   // of the user now; "" for a deleted user
	TokenID string         `json:"tokenId,omitempty"` // of the API token that was used
	Address string         `json:"address,omitempty"` // of the client
	Via     string         `json:"via,omitempty"`     // how a person at a host was known: stream-token, local, unknown
}

// AuditSubject is what an act concerns.
type AuditSubject struct {
	Kind AuditSubjectKind `json:"kind"`
	ID   string           `json:"id,omitempty"`
	Name string           `json:"name,omitempty"` // a user's e-mail address now; otherwise the name at the time
}

// AuditEntry is one act in the audit log. No grows with every entry.
type AuditEntry struct {
	No      int64             `json:"no"`
	At      time.Time         `json:"at"`
	Action  AuditAction       `json:"action"`
	Actor   AuditActor        `json:"actor"`
	Subject AuditSubject      `json:"subject"`
	Detail  map[string]string `json:"detail,omitempty"`
}

// AuditList is a page of the audit log, the newest entry first.
type AuditList struct {
	Entries    []AuditEntry `json:"entries"`
	NextCursor string       `json:"nextCursor,omitempty"`
}
