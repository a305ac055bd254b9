import { useQuery } from '@tanstack/react-query';
import type { Task, TaskUsage, Usage } from '../app/types.ts';
import { Dialog } from '../ui/dialog.tsx';
import { QueryStatus } from '../ui/query.tsx';
import styles from '../workspaces/workspaces.module.css';
import { usageQuery } from './statusbar.tsx';
import { contextOf, dollars, readUsage } from './usage.ts';

/** What the task's last turn and all its turns used, as its agents reported it. */
export function TaskUsageDialog({ task, onClose }: { task: Task; onClose: () => void }) {
  const sum = useQuery(usageQuery(task));
  const last = readUsage(task.lastTurn?.usage);
  return (
    <Dialog title="Usage" onClose={onClose}>
      {Object.keys(last).length > 0 && (
        <>
          <h3>Last turn</h3>
          <Counts usage={last} />
        </>
      )}
      <h3>All turns of the task</h3>
      <QueryStatus query={sum} loading="the usage" failed="The usage cannot be read" />
      {sum.data && <Sum {...sum.data} />}
      <p>Costs are the estimates of the agent, not a bill.</p>
    </Dialog>
  );
}

function Sum({ turns, unreported, usage }: TaskUsage) {
  if (turns === 0) return <p>No agent has reported what a turn used.</p>;
  return (
    <>
      <Counts usage={usage} />
      {unreported > 0 && (
        <p>
          {unreported === 1
            ? 'One turn is not included: the agent did not report what it used.'
            : `${unreported} turns are not included: the agent did not report what they used.`}
        </p>
      )}
    </>
  );
}

const rows: readonly (readonly [label: string, of: (usage: Usage) => string])[] = [
  ['Input tokens', (u) => count(u.inputTokens)],
  ['… of them from the cache', (u) => count(u.cachedInputTokens)],
  ['Output tokens', (u) => count(u.outputTokens)],
  ['… of them for reasoning', (u) => count(u.reasoningTokens)],
  ['Cost', (u) => (u.costUSD ? dollars(u.costUSD) : '')],
  ['Context', (u) => contextOf(u)],
];

const count = (n: number | undefined) => (n ? n.toLocaleString() : '');

function Counts({ usage }: { usage: Usage }) {
  return (
    <dl className={styles.details}>
      {rows.map(([label, of]) => {
        const text = of(usage);
        return (
          text && (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{text}</dd>
            </div>
          )
        );
      })}
    </dl>
  );
}
