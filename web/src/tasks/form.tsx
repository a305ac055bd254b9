import type { FilledTemplate } from '@bellhop/client';
import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useRef, useState, type FormEvent } from 'react';
import { useCommandTasks } from '../task/composer/commands.ts';
import { useCompletion } from '../task/composer/completion.tsx';
import { readDraft, saveDraft, saveFirstMessage } from '../task/composer/draft.ts';
import { Button } from '../ui/button.tsx';
import { isComposing } from '../ui/composing.ts';
import { Failure } from '../ui/failure.tsx';
import { useWorkspaces } from '../workspaces/api.ts';
import { nameOf, possibleWorkspace } from '../workspaces/choices.ts';
import { useCreateTask, useOffers, type NewTask } from './api.ts';
import { possible, type Picks } from './choices.ts';
import { Pickers } from './pickers.tsx';
import { picksOf, readPicks, savePicks } from './picks.ts';
import { titleOf } from './title.ts';
import styles from './form.module.css';

const TemplatePicker = lazy(() => import('../templates/picker.tsx').then((m) => ({ default: m.TemplatePicker })));

const Examples = lazy(() => import('../firststeps/examples.tsx').then((m) => ({ default: m.Examples })));

const draftKey = 'new';

/** The text of the first message, which survives reloads. */
function useFirstMessage(): [string, (text: string) => void] {
  const [message, setMessage] = useState(() => readDraft(draftKey));
  const change = (text: string) => {
    setMessage(text);
    saveDraft(draftKey, text);
  };
  return [message, change];
}

/** What the hosts offer, and those of the picks that can be chosen. */
function useOffered(remembered: Picks) {
  const offers = useOffers();
  const workspaces = useWorkspaces().data;
  const offered = offers.data ? possible(offers.data, remembered) : remembered;
  return { offers, workspaces, picks: { ...offered, workspace: possibleWorkspace(workspaces, offered) } };
}

/** The task of a first message. */
function newTask(text: string, { agent, model, project, branch, hostId, workspace, mode }: Picks): NewTask {
  return {
    title: titleOf(text),
    ...(agent && { agent }),
    ...(model && { model }),
    ...(project && { project }),
    ...(branch && !workspace && { branch }),
    ...(hostId && { hostId }),
    ...(workspace && { workspace: nameOf(workspace) }),
    ...(mode !== 'ask' && { permissionMode: mode }),
  };
}

/** The first message of a task and where it runs; the task takes its title from the message. */
export function NewTaskForm({ onDone, hasExamples = false }: { onDone?: () => void; hasExamples?: boolean }) {
  const [message, change] = useFirstMessage();
  const [remembered, setPicks] = useState(readPicks);
  const { offers, workspaces, picks } = useOffered(remembered);
  const create = useCreateTask();
  const navigate = useNavigate();
  const { agent, project, branch, hostId } = picks;
  const field = useRef<HTMLTextAreaElement>(null);
  const completion = useCompletion(field, message, change, {
    paths: project ? { hostId, project, branch } : null,
    commandsOf: useCommandTasks({ agent, project, hostId }),
  });
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    const text = message.trim();
    if (!text || create.isPending) return;
    create.mutate(newTask(text, picks), {
      onSuccess: (task) => {
        savePicks(picks);
        saveFirstMessage(task.id, text);
        change('');
        onDone?.();
        void navigate({ to: '/tasks/$taskId', params: { taskId: task.id } });
      },
    });
  };
  const write = (text: string) => {
    change(text);
    field.current?.focus();
  };
  const use = ({ prompt, task }: FilledTemplate) => {
    setPicks(picksOf(task, picks));
    write(prompt);
  };
  return (
    <div className={styles.form}>
      <Suspense>
        <TemplatePicker onFilled={use} />
      </Suspense>
      <form className={styles.form} onSubmit={submit}>
        <textarea
          ref={field}
          {...completion.field}
          className={styles.message}
          aria-label="First message"
          enterKeyHint="go"
          placeholder="What should the agent do?"
          rows={4}
          autoFocus
          dir="auto"
          value={message}
          onChange={(e) => change(e.target.value)}
          onKeyDown={(e) => {
            if (completion.keys(e)) return;
            if (e.key !== 'Enter' || e.shiftKey || isComposing(e)) return;
            e.preventDefault();
            submit();
          }}
        />
        {completion.list}
        <Pickers
          offers={offers.data}
          workspaces={workspaces}
          picks={picks}
          onChange={(change) => setPicks({ ...picks, ...change })}
        />
        {offers.error && (
          <Failure
            what="What the agent hosts offer could not be read"
            error={offers.error}
            retry={() => void offers.refetch()}
          />
        )}
        {create.error && <Failure what="The task was not created" error={create.error} retry={() => submit()} />}
        {hasExamples && offers.data && (
          <Suspense>
            <Examples offers={offers.data} picks={picks} onChoose={write} />
          </Suspense>
        )}
        <div className={styles.actions}>
          <span className={styles.hint}>Enter starts it, Shift Enter breaks the line</span>
          <Button kind="primary" type="submit" disabled={!message.trim() || create.isPending}>
            {create.isPending ? 'Starting …' : 'Start task'}
          </Button>
        </div>
      </form>
    </div>
  );
}
