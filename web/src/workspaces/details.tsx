import type { Task, WorkspaceState } from '../app/types.ts';
import { Dialog } from '../ui/dialog.tsx';
import styles from './workspaces.module.css';

/** The workspace of a task: its branch, whether it is dirty, and the notes that agents keep with it. */
export function WorkspaceDetails({
  task,
  state,
  onClose,
}: {
  task: Task;
  state: WorkspaceState | null;
  onClose: () => void;
}) {
  return (
    <Dialog title="Workspace" onClose={onClose}>
      {!state && <p>The agent host describes the workspace once the first turn has begun.</p>}
      <dl className={styles.details}>
        {task.workspace && (
          <>
            <dt>Name</dt>
            <dd>{task.workspace}</dd>
          </>
        )}
        {state && (
          <>
            <dt>Branch</dt>
            <dd>{state.branch || 'none'}</dd>
            <dt>Changes</dt>
            <dd>{changesOf(state)}</dd>
          </>
        )}
      </dl>
      {state && <Metadata metadata={state.metadata} />}
    </Dialog>
  );
}

export const changesOf = ({ dirty }: { dirty: boolean }) => (dirty ? 'Uncommitted changes' : 'Everything is committed');

/** The notes of a workspace; nothing when there are none. */
export function Metadata({ metadata }: { metadata: Readonly<Record<string, string>> }) {
  const notes = Object.entries(metadata).sort(([a], [b]) => a.localeCompare(b));
  if (notes.length === 0) return null;
  return (
    <dl className={styles.details} aria-label="Notes">
      {notes.map(([key, value]) => (
        <div key={key}>
          <dt>{key}</dt>
          <dd dir="auto">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
