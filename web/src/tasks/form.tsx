import { useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { useHosts } from '../hosts/api.ts';
import { readDraft, saveDraft, saveFirstMessage } from '../task/composer/draft.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Field } from '../ui/field.tsx';
import { useAgents, useCreateTask } from './api.ts';
import { titleOf } from './title.ts';
import styles from './form.module.css';

const draftKey = 'new';

/** The first message of a task and where it runs; the task takes its title from the message. */
export function NewTaskForm({ onDone }: { onDone?: () => void }) {
  const [message, setMessage] = useState(() => readDraft(draftKey));
  const [agent, setAgent] = useState('');
  const [project, setProject] = useState('');
  const [hostId, setHostId] = useState('');
  const create = useCreateTask();
  const navigate = useNavigate();

  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    const text = message.trim();
    if (!text || create.isPending) return;
    create.mutate(
      { title: titleOf(text), ...(agent && { agent }), ...(project && { project }), ...(hostId && { hostId }) },
      {
        onSuccess: (task) => {
          saveFirstMessage(task.id, text);
          saveDraft(draftKey, '');
          setMessage('');
          onDone?.();
          void navigate({ to: '/tasks/$taskId', params: { taskId: task.id } });
        },
      },
    );
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      <textarea
        className={styles.message}
        aria-label="First message"
        placeholder="What should the agent do?"
        rows={4}
        autoFocus
        dir="auto"
        value={message}
        onChange={(e) => {
          setMessage(e.target.value);
          saveDraft(draftKey, e.target.value);
        }}
        onKeyDown={(e) => {
          if (e.key !== 'Enter' || e.shiftKey || e.nativeEvent.isComposing) return;
          e.preventDefault();
          submit();
        }}
      />
      <div className={styles.options}>
        <AgentField value={agent} onChange={setAgent} />
        <Field label="Project">
          {(id) => (
            <input
              id={id}
              placeholder="its own directory"
              value={project}
              onChange={(e) => setProject(e.target.value.trim())}
            />
          )}
        </Field>
        <HostField hostId={hostId} onChange={setHostId} />
      </div>
      {create.error && <Failure what="The task was not created" error={create.error} retry={() => submit()} />}
      <div className={styles.actions}>
        <span className={styles.hint}>Enter starts it, Shift Enter breaks the line</span>
        <Button kind="primary" type="submit" disabled={!message.trim() || create.isPending}>
          {create.isPending ? 'Starting …' : 'Start task'}
        </Button>
      </div>
    </form>
  );
}

/** Shown only to administrators, because other users cannot list the hosts. */
function HostField({ hostId, onChange }: { hostId: string; onChange: (hostId: string) => void }) {
  const hosts = useHosts().data;
  if (!hosts?.length) return null;
  return (
    <Field label="Host">
      {(id) => (
        <select id={id} value={hostId} onChange={(e) => onChange(e.target.value)}>
          <option value="">Least busy</option>
          {hosts.map((h) => (
            <option key={h.id} value={h.id}>
              {h.name}
              {h.health === 'unreachable' ? ' (offline)' : ''}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function AgentField({ value, onChange }: { value: string; onChange: (agent: string) => void }) {
  const agents = useAgents().data;
  return (
    <Field label="Agent">
      {(id) => (
        <>
          <input
            id={id}
            list={`${id}-agents`}
            placeholder="default"
            value={value}
            onChange={(e) => onChange(e.target.value.trim())}
          />
          <datalist id={`${id}-agents`}>
            {agents?.map((a) => (
              <option key={a.id} value={a.id}>
                {a.title}
              </option>
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}
