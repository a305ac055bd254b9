import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { readAgain } from '../app/again.ts';
import { client } from '../app/http.ts';
import type { Task } from '../app/types.ts';
import type { Changes } from '../diff/query.ts';
import type { SendReview } from '../diff/send.tsx';
import { spellName } from '../ui/bidi.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Field } from '../ui/field.tsx';
import { toast } from '../ui/toast.tsx';
import { AskForDraft, DraftFailure, useDraft } from './asking.tsx';
import { draftPrompt } from './draft.ts';
import styles from './ship.module.css';

interface Props {
  task: Task;
  /** The present changes; undefined while they are read. */
  changes: Changes | undefined;
  onSend: SendReview;
  onClose: () => void;
}

/** Commits all changes of a task, with a message that the agent can draft. */
export function CommitForm({ task, changes, onSend, onClose }: Props) {
  const [message, setMessage] = useState('');
  const queries = useQueryClient();
  const draft = useDraft({ task, onSend, prompt: draftPrompt, present: message, onDraft: setMessage });
  const busy = task.openTurn !== null;
  const commit = useMutation({
    mutationFn: () => client.commit(task.id, message, changes ?? { snapshot: '', head: '' }),
    onSuccess: (done) => {
      const inner = (done.innerRepositories ?? []).map(spellName).join(', ');
      const without = inner && ` The history of the repositories inside is not part of it: ${inner}.`;
      toast(`Committed ${done.files === 1 ? '1 file' : `${done.files} files`} to ${spellName(done.branch)}.${without}`);
      onClose();
    },
    onSettled: () => {
      void readAgain(queries, ['diff', task.id]);
      void readAgain(queries, ['workspace', task.id]);
    },
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
      <DraftFailure draft={draft} />
      <div className={styles.row}>
        <AskForDraft draft={draft} task={task} label="Ask the agent for a message" />
        <Button small onClick={onClose}>
          Cancel
        </Button>
        <Button
          small
          kind="primary"
          type="submit"
          disabled={busy || !changes || commit.isPending || message.trim() === ''}
        >
          {commit.isPending ? 'Committing …' : 'Commit all changes'}
        </Button>
      </div>
    </form>
  );
}
