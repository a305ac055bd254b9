import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState, type FormEvent } from 'react';
import { client } from '../app/http.ts';
import type { Task } from '../app/types.ts';
import type { SendReview } from '../diff/send.tsx';
import { newId } from '../task/id.ts';
import { spellName } from '../ui/bidi.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Field } from '../ui/field.tsx';
import { toast } from '../ui/toast.tsx';
import { answerTo, cleanDraft, draftPrompt, useRows } from './draft.ts';
import styles from './ship.module.css';

/** Commits all changes of a task, with a message that the agent can draft. */
export function CommitForm({ task, onSend, onClose }: { task: Task; onSend: SendReview; onClose: () => void }) {
  const [message, setMessage] = useState('');
  const queries = useQueryClient();
  const draft = useDraft(task, onSend, setMessage);
  const busy = task.openTurn !== null;
  const commit = useMutation({
    mutationFn: () => client.commit(task.id, message),
    onSuccess: (done) => {
      toast(`Committed ${done.files === 1 ? '1 file' : `${done.files} files`} to ${spellName(done.branch)}.`);
      onClose();
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['workspace', task.id] }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    commit.mutate();
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      <Field label="Commit message" hint="All changes are committed, new files too. Ignored files are left out.">
        {(id) => (
          <textarea
            id={id}
            dir="auto"
            rows={4}
            autoFocus
            className={styles.message}
            value={message}
            onChange={(e) => setMessage(e.target.value)}
          />
        )}
      </Field>
      {commit.error && <Failure what="Nothing was committed" error={commit.error} />}
      {draft.error !== undefined && <Failure what="The agent was not asked" error={draft.error} />}
      <div className={styles.row}>
        <Button small kind="quiet" disabled={draft.waiting} onClick={draft.ask}>
          Ask the agent for a message
        </Button>
        <span className={styles.state} role="status">
          {draft.waiting ? 'The agent writes a message …' : busy ? 'The agent works on a message' : draft.note}
        </span>
        <Button small onClick={onClose}>
          Cancel
        </Button>
        <Button small kind="primary" type="submit" disabled={busy || commit.isPending || message.trim() === ''}>
          {commit.isPending ? 'Committing …' : 'Commit all changes'}
        </Button>
      </div>
    </form>
  );
}

/** Asks the agent for a draft, and hands it over when the turn has ended. */
function useDraft(task: Task, onSend: SendReview, onDraft: (text: string) => void) {
  const [asked, setAsked] = useState('');
  const [note, setNote] = useState('');
  const [error, setError] = useState<unknown>();
  const rows = useRows(task.id);
  const answer = answerTo(rows, asked, task);
  useEffect(() => {
    if (answer === undefined) return;
    const text = cleanDraft(answer);
    setAsked('');
    setNote(text === '' ? 'The agent answered with no message' : '');
    if (text !== '') onDraft(text);
  }, [answer, onDraft]);
  const ask = () => {
    const id = newId();
    setAsked(id);
    setError(undefined);
    onSend({ id, text: draftPrompt }).catch((reason: unknown) => {
      setAsked('');
      setError(reason);
    });
  };
  return { ask, waiting: asked !== '', note, error };
}
