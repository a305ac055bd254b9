package broker

import (
	"context"
	"strconv"

	"bellhop/protocol"
)

func taskAct(action protocol.AuditAction, t *Task, detail map[string]string) *Act {
	return &Act{Action: action, Subject: protocol.AuditSubject{Kind: protocol.AuditOfTask, ID: t.ID}, Detail: detail}
}

// setPermissionMode changes the task's mode; "" changes nothing. A check-in calls it after its host has
// accepted the mode.
func (tx *taskTx) setPermissionMode(ctx context.Context, mode protocol.PermissionMode) {
	if mode == "" || mode == tx.task.PermissionMode {
		return
	}
	tx.task.PermissionMode = mode
	act := taskAct(protocol.AuditTaskMode, tx.task, map[string]string{"mode": string(mode)})
	tx.batch.Audit = append(tx.batch.Audit, act.entry(ActorOf(ctx), tx.now))
	tx.touch()
}

// auditAnswer adds the entry of an answer that a person gave to a question. It holds neither the
// arguments of the call nor the text of the answer, which may contain secrets. An answer
// by a rule gets no entry, because no person gave it.
func (tx *taskTx) auditAnswer(q *Interaction) {
	if q.Answer == nil || q.Answer.By == "" {
		return
	}
	detail := map[string]string{"question": q.ID}
	if q.ToolName != "" {
		detail["tool"] = q.ToolName
	}
	if q.Level != "" {
		detail["level"] = q.Level
	}
	if q.Answer.Approved != nil {
		detail["approved"] = strconv.FormatBool(*q.Answer.Approved)
	}
	if q.Answer.Remembered != "" {
		detail["remembered"] = "session"
	}
	act := taskAct(protocol.AuditTaskAnswered, tx.task, detail)
	tx.batch.Audit = append(tx.batch.Audit, act.entry(answerer(tx.task, q.Answer.By), tx.now))
}

// answerer returns the actor of an answer. The host names it, but only the task's owner can answer
// through the broker, so the id of another user is ignored.
func answerer(t *Task, by string) protocol.AuditActor {
	switch by {
	case t.UserID:
		return protocol.AuditActor{Kind: protocol.AuditByUser, ID: by}
	case protocol.ByStreamToken, protocol.ByLocal:
		return protocol.AuditActor{Kind: protocol.AuditByHost, Via: by}
	}
	return protocol.AuditActor{Kind: protocol.AuditByHost, Via: viaUnknown}
}

const viaUnknown = "unknown"
