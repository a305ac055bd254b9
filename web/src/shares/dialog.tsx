import { useState, type FormEvent } from 'react';
import type { Task } from '../app/types.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Failure } from '../ui/failure.tsx';
import { Field } from '../ui/field.tsx';
import { Secret } from '../ui/secret.tsx';
import styles from '../ui/table.module.css';
import { lives, useCreateShare } from './api.ts';
import { ShareTable } from './table.tsx';

/** Makes and revokes links to the transcript of a task. */
export function ShareDialog({ task, onClose }: { task: Task; onClose: () => void }) {
  const create = useCreateShare(task.id);
  const [days, setDays] = useState<number>(7);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate(days);
  };
  return (
    <Dialog title="Share this task" onClose={onClose}>
      <p>
        Anyone with the link reads the turns that have ended by now, without signing in. Later turns stay out, and so do
        files and the words of your answers. Secrets that Bellhop recognizes are masked: read the task before you share
        it.
      </p>
      {create.data?.url ? (
        <Secret what="The link works now." value={create.data.url} onDone={() => create.reset()} />
      ) : (
        <form className={styles.form} onSubmit={submit}>
          <Field label="Works for">
            {(id) => (
              <select id={id} value={days} onChange={(e) => setDays(Number(e.target.value))}>
                {lives.map((n) => (
                  <option key={n} value={n}>
                    {n === 1 ? '1 day' : `${n} days`}
                  </option>
                ))}
              </select>
            )}
          </Field>
          {create.error && <Failure what="The link was not created" error={create.error} />}
          <div className={styles.row}>
            <Button kind="primary" type="submit" disabled={create.isPending}>
              Create link
            </Button>
          </div>
        </form>
      )}
      <h3 className={styles.h2}>Links that work</h3>
      <ShareTable taskId={task.id} />
    </Dialog>
  );
}
