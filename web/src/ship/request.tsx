import type { RemoteState } from '@bellhop/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useCallback, useState, type FormEvent } from 'react';
import { readAgain } from '../app/again.ts';
import { client } from '../app/http.ts';
import type { Task } from '../app/types.ts';
import type { SendReview } from '../diff/send.tsx';
import { spellName } from '../ui/bidi.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Field, TextField } from '../ui/field.tsx';
import { toast } from '../ui/toast.tsx';
import { AskForDraft, DraftFailure, useDraft } from './asking.tsx';
import { requestPrompt, splitDraft } from './draft.ts';
import styles from './ship.module.css';

/** The page of the pull request at the forge. */
export function RequestLink({ remote }: { remote: RemoteState }) {
  const { pullRequest: request } = remote;
  if (!request || !/^https?:\/\//.test(request.url)) return null;
  return (
    <a className={styles.link} href={request.url} target="_blank" rel="noreferrer noopener" title={request.url}>
      Pull request #{request.number}
    </a>
  );
}

interface Props {
  task: Task;
  remote: RemoteState;
  onSend: SendReview;
  onClose: () => void;
}

/** Opens the pull request of a task's branch, or changes the open one. */
export function RequestForm({ task, remote, onSend, onClose }: Props) {
  const known = remote.pullRequest;
  const [title, setTitle] = useState(known?.title ?? task.title);
  const [body, setBody] = useState(known?.body ?? '');
  const queries = useQueryClient();
  const onDraft = useCallback((text: string) => {
    const drafted = splitDraft(text);
    setTitle(drafted.title);
    setBody(drafted.body);
  }, []);
  const prompt = requestPrompt(remote.base ?? '');
  const draft = useDraft({ task, onSend, prompt, present: `${title}\n${body}`, onDraft });
  const busy = task.openTurn !== null;
  const send = useMutation({
    mutationFn: () => client.pullRequest(task.id, { title, body }),
    onSuccess: (done) => {
      toast(`Pull request #${done.number} is ${done.created ? 'open' : 'updated'}.`);
      onClose();
    },
    onSettled: () => readAgain(queries, ['workspace', task.id]),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send.mutate();
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      <TextField label="Title" dir="auto" autoFocus maxLength={250} value={title} onChange={setTitle} />
      <Field label="Description" hint={remote.base && `It asks to merge into ${spellName(remote.base)}.`}>
        {(id) => (
          <textarea
            id={id}
            dir="auto"
            rows={4}
            className={styles.message}
            value={body}
            onChange={(e) => setBody(e.target.value)}
          />
        )}
      </Field>
      {send.error && <Failure what="The forge has no such pull request" error={send.error} />}
      <DraftFailure draft={draft} />
      <div className={styles.row}>
        <AskForDraft draft={draft} task={task} label="Ask the agent for the texts" />
        <Button small onClick={onClose}>
          Cancel
        </Button>
        <Button small kind="primary" type="submit" disabled={busy || send.isPending || title.trim() === ''}>
          {send.isPending ? 'Sending …' : known ? 'Update the pull request' : 'Open the pull request'}
        </Button>
      </div>
    </form>
  );
}
