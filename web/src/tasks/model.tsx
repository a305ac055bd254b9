import type { Task } from '../app/types.ts';
import { useOffers, useUpdateTask } from './api.ts';
import { agentOf, choicesOf } from './choices.ts';
import styles from './mode.module.css';

/** The model of a task's next turns, where its host lists the models of its agent. */
export function TaskModel({ task }: { task: Task }) {
  const update = useUpdateTask();
  const offers = useOffers().data;
  if (!offers || task.basicHost) return null;
  const { models } = choicesOf(offers, task);
  if (models.length === 0) return null;
  const current = task.model ?? '';
  return (
    <select
      aria-label="Model"
      className={styles.select}
      value={current}
      disabled={update.isPending}
      onChange={(e) => update.mutate({ id: task.id, model: e.target.value })}
    >
      {current === '' && <option value="">Default model</option>}
      {current !== '' && !models.some((m) => m.value === current) && <option value={current}>{current}</option>}
      {models.map((m) => (
        <option key={m.value} value={m.value}>
          {m.label}
        </option>
      ))}
    </select>
  );
}

/** Whether a task's agent follows a script, and no language model answers. */
export function useIsScripted(task: Task): boolean {
  const offers = useOffers().data;
  return offers !== undefined && agentOf(offers, task)?.scripted === true;
}

/** The name of a task's host; "" for an agent at its own address, and while the names are read. */
export function useHostName(task: Task): string {
  return useOffers().data?.hosts.find((h) => h.hostId === task.hostId)?.name ?? '';
}
