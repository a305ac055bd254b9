import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { describe } from '../app/http.ts';
import type { Task } from '../app/types.ts';
import { useActs } from '../palette/acts.ts';
import { useUpdateTask } from '../tasks/api.ts';
import { modeActs } from '../tasks/mode.tsx';
import { statusOf } from '../tasks/status.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { toast } from '../ui/toast.tsx';
import { useTaskWorkspace } from '../workspaces/api.ts';
import styles from './page.module.css';
import { TaskMenu } from './restart.tsx';
import { StatusBar } from './statusbar.tsx';

interface Props {
  task: Task;
  offline: ReadonlySet<string>;
  diffOpen: boolean;
  onDiff: () => void;
  filesOpen: boolean;
  onFiles: () => void;
  terminalOpen: boolean;
  onTerminal: () => void;
  /** Shows the changes with the form of a commit. */
  onCommit: () => void;
  /** Stops the agent's open turn. */
  onStop: () => Promise<void>;
}

/** The title of a task, its state, and what can be done with it. */
export function TaskHeader(props: Props) {
  const { task, offline, diffOpen, onDiff, filesOpen, onFiles, terminalOpen, onTerminal, onCommit, onStop } = props;
  const status = statusOf(task, offline);
  const workspace = useTaskWorkspace(task);
  const canCommit = !task.openTurn && workspace?.dirty === true && (workspace.ships?.includes('commit') ?? false);
  const { stop, stopping } = useStopping(onStop);
  useTaskActs(task, {
    ...{ diffOpen, onDiff, filesOpen },
    ...(!task.basicHost && { onFiles }),
    ...(workspace?.terminal && { onTerminal }),
    ...(canCommit && { onCommit }),
    ...(task.openTurn && { onStop: stop }),
  });
  return (
    <>
      <header className={styles.header}>
        <Link to="/" className={styles.back} aria-label="Back to tasks">
          <Icon name="back" />
        </Link>
        <h1 dir="auto" className={styles.title} title={task.title}>
          {task.title}
        </h1>
        <Badge tone={status.tone} {...(status.icon && { icon: status.icon })}>
          {status.label}
        </Badge>
        {task.openTurn && (
          <Button small aria-label="Stop the agent" disabled={stopping} onClick={stop}>
            <Icon name="stop" size={13} />
            <span className={styles.word}>Stop</span>
          </Button>
        )}
        {canCommit && !diffOpen && (
          <Button small kind="primary" aria-label="Commit the changes" onClick={onCommit}>
            <Icon name="branch" size={13} />
            <span className={styles.word}>Commit</span>
          </Button>
        )}
        <Button small kind="quiet" aria-pressed={diffOpen} onClick={onDiff} aria-label="Changes">
          <Icon name="diff" />
          <span className={styles.word}>Changes</span>
        </Button>
        {!task.basicHost && (
          <Button small kind="quiet" aria-pressed={filesOpen} onClick={onFiles} aria-label="Files">
            <Icon name="file" />
            <span className={styles.word}>Files</span>
          </Button>
        )}
        {workspace?.terminal && (
          <Button small kind="quiet" aria-pressed={terminalOpen} onClick={onTerminal} aria-label="Terminal">
            <Icon name="terminal" />
          </Button>
        )}
        <TaskMenu task={task} workspace={workspace} />
      </header>
      <StatusBar task={task} workspace={workspace} />
    </>
  );
}

function useStopping(onStop: () => Promise<void>) {
  const [stopping, setStopping] = useState(false);
  const stop = () => {
    setStopping(true);
    onStop()
      .catch((error: unknown) => toast(`Not stopped: ${describe(error).message}`))
      .finally(() => setStopping(false));
  };
  return { stop, stopping };
}

interface Shown {
  diffOpen: boolean;
  onDiff: () => void;
  filesOpen: boolean;
  onFiles?: () => void;
  onTerminal?: () => void;
  onCommit?: () => void;
  onStop?: () => void;
}

/** Offers in the palette what can be done with the shown task. */
function useTaskActs(task: Task, { diffOpen, onDiff, filesOpen, onFiles, onTerminal, onCommit, onStop }: Shown) {
  const update = useUpdateTask();
  const archive = { label: task.archived ? 'Unarchive this task' : 'Archive this task', icon: 'archive' as const };
  useActs([
    ...(onStop ? [{ label: 'Stop the agent', icon: 'stop' as const, run: onStop }] : []),
    { label: diffOpen ? 'Hide the changes' : 'Show the changes', icon: 'diff', run: onDiff },
    ...(onFiles
      ? [{ label: filesOpen ? 'Hide the files' : 'Show the files', icon: 'file' as const, run: onFiles }]
      : []),
    ...(onTerminal ? [{ label: 'Show or hide the terminal', icon: 'terminal' as const, run: onTerminal }] : []),
    ...(onCommit ? [{ label: 'Commit the changes', icon: 'branch' as const, run: onCommit }] : []),
    ...(task.basicHost ? [] : modeActs(task, (permissionMode) => update.mutate({ id: task.id, permissionMode }))),
    { ...archive, run: () => update.mutate({ id: task.id, archived: !task.archived }) },
  ]);
}
