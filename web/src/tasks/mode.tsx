import type { PermissionMode, Task } from '../app/types.ts';
import type { Act } from '../palette/acts.ts';
import { useUpdateTask } from './api.ts';
import styles from './mode.module.css';

/** What users read about the modes. A new mode needs a row: the compiler asks for it. */
const modes: Record<PermissionMode, { label: string; title: string }> = {
  plan: { label: 'Plan only', title: 'What changes something is denied' },
  ask: { label: 'Ask', title: 'The rules of the agent host decide what is asked' },
  'accept-edits': { label: 'Accept edits', title: 'Files are written unasked, but those that other programs run' },
  auto: { label: 'Auto', title: 'Asks about critical calls, files outside, and files that other programs run' },
};

export const isMode = (value: string): value is PermissionMode => Object.hasOwn(modes, value);

/** Chooses how much the agent asks. What a rule denies stays denied in all modes. */
export function ModeSelect({
  id,
  label,
  value,
  disabled,
  onChange,
}: {
  id?: string;
  label?: string;
  value: PermissionMode;
  disabled?: boolean;
  onChange: (mode: PermissionMode) => void;
}) {
  return (
    <select
      id={id}
      aria-label={label}
      className={styles.select}
      value={value}
      disabled={disabled}
      title={modes[value].title}
      onChange={(e) => isMode(e.target.value) && onChange(e.target.value)}
    >
      {Object.entries(modes).map(([mode, { label: text, title }]) => (
        <option key={mode} value={mode} title={title}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** What the palette offers to change a task's mode. */
export function modeActs(task: Task, onChange: (mode: PermissionMode) => void): Act[] {
  return Object.entries(modes).flatMap(([mode, { label }]) =>
    isMode(mode) && mode !== (task.permissionMode ?? 'ask')
      ? [{ label: `Permissions: ${label}`, icon: 'key' as const, run: () => onChange(mode) }]
      : [],
  );
}

/** The mode of a task's next turns. Basic hosts know none. */
export function TaskMode({ task }: { task: Task }) {
  const update = useUpdateTask();
  if (task.basicHost) return null;
  return (
    <ModeSelect
      label="Permissions"
      value={task.permissionMode ?? 'ask'}
      disabled={update.isPending}
      onChange={(permissionMode) => update.mutate({ id: task.id, permissionMode })}
    />
  );
}
