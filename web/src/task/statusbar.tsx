import { useQuery } from '@tanstack/react-query';
import { client } from '../app/http.ts';
import type { Task, WorkspaceState } from '../app/types.ts';
import { RequestLink } from '../ship/request.tsx';
import { useTotals } from '../ship/totals.ts';
import { TaskMode } from '../tasks/mode.tsx';
import { TaskModel, useHostName, useIsScripted } from '../tasks/model.tsx';
import { spellName } from '../ui/bidi.ts';
import styles from './statusbar.module.css';
import { contextOf, costOf, readUsage } from './usage.ts';

/** What the task's turns used in all. It is read again after each turn. */
export const usageQuery = (task: Task) => ({
  queryKey: ['usage', task.id, task.lastTurn?.id ?? ''],
  queryFn: ({ signal }: { signal: AbortSignal }) => client.usage(task.id, signal),
});

/** Where a task works, and what it has changed and used, in one line that scrolls on a phone. */
export function StatusBar({ task, workspace }: { task: Task; workspace: WorkspaceState | null }) {
  const host = useHostName(task);
  const isScripted = useIsScripted(task);
  const totals = useTotals(task);
  const usage = readUsage(task.lastTurn?.usage);
  const sum = useQuery({ ...usageQuery(task), enabled: task.lastTurn !== null }).data;
  const all = sum && sum.turns > 1 ? costOf(sum.usage) : '';
  const branch = workspace?.branch ? spellName(workspace.branch) : '';
  const facts: readonly (readonly [name: string, text: string])[] = [
    ['Agent', isScripted ? `${task.agent} (scripted)` : task.agent],
    ['Project', task.project],
    ['Starting branch', task.branch ? `from ${task.branch}` : ''],
    ['Host', host],
    ['Branch', branch && workspace?.dirty ? `${branch} (uncommitted changes)` : branch],
    ['Changes', totals],
    ['Context', contextOf(usage) || (sum ? contextOf(sum.usage) : '')],
    ['Last turn', costOf(usage)],
    ['All turns', all && `${all} in all`],
  ];
  return (
    <ul className={styles.bar} aria-label="State of the task" tabIndex={0}>
      {!task.basicHost && (
        <li>
          <TaskModel task={task} />
          <TaskMode task={task} />
        </li>
      )}
      {facts.map(
        ([name, text]) =>
          text && (
            <li key={name} title={name}>
              <bdi>{text}</bdi>
            </li>
          ),
      )}
      {workspace?.remote?.pullRequest && (
        <li>
          <RequestLink remote={workspace.remote} />
        </li>
      )}
    </ul>
  );
}
