import { useMutation, useQueryClient } from '@tanstack/react-query';
import { createContext, use, useState, type ReactNode } from 'react';
import { client, describe } from '../app/http.ts';
import type { DiffFile, Task } from '../app/types.ts';
import { spellName } from '../ui/bidi.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import styles from '../ui/table.module.css';
import { toast } from '../ui/toast.tsx';
import { useTaskWorkspace } from '../workspaces/api.ts';

/** Discards the changes of a file after a question; null where that is not possible. */
const Discarding = createContext<((file: DiffFile) => void) | null>(null);

/** Lets the files of the present changes be discarded while no turn is open, if the host does that. */
export function DiscardFiles({ task, present, children }: { task: Task; present: boolean; children: ReactNode }) {
  const workspace = useTaskWorkspace(task);
  const [asked, setAsked] = useState<DiffFile | null>(null);
  const queries = useQueryClient();
  const discard = useMutation({
    mutationFn: (file: DiffFile) => client.discard(task.id, pathsOf(file)),
    onSuccess: (_, file) => toast(`The changes of ${spellName(file.path)} are discarded.`),
    onError: (error) => {
      const { message, hint } = describe(error);
      toast(`Not discarded: ${[message, hint].filter(Boolean).join('. ')}`);
    },
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ['diff', task.id] });
      void queries.invalidateQueries({ queryKey: ['workspace', task.id] });
    },
  });
  const possible = present && task.openTurn === null && workspace?.ships?.includes('discard');
  return (
    <Discarding value={possible && !discard.isPending ? setAsked : null}>
      {children}
      {asked && (
        <Dialog title="Discard the changes?" onClose={() => setAsked(null)}>
          <p>{lossOf(asked)}</p>
          <div className={styles.row}>
            <Button onClick={() => setAsked(null)}>Cancel</Button>
            <Button
              kind="danger"
              onClick={() => {
                setAsked(null);
                discard.mutate(asked);
              }}
            >
              Discard
            </Button>
          </div>
        </Dialog>
      )}
    </Discarding>
  );
}

export function DiscardButton({ file }: { file: DiffFile }) {
  const ask = use(Discarding);
  if (!ask) return null;
  return (
    <IconButton label={`Discard: ${spellName(file.path)}`} icon={<Icon name="trash" />} onClick={() => ask(file)} />
  );
}

/** A renamed file has two paths: the new one is removed, and the old one comes back. */
const pathsOf = (file: DiffFile) =>
  file.oldPath && file.oldPath !== file.path ? [file.path, file.oldPath] : [file.path];

/** What discarding the changes of a file loses. */
export function lossOf(file: DiffFile): string {
  const name = spellName(file.path);
  const lost = 'Its changes are lost, unless they are committed.';
  if (file.status === 'added') return `${name} is removed. Its content is lost, unless it is committed.`;
  if (file.status === 'deleted') return `${name} comes back as it was when the task began.`;
  if (file.oldPath && file.oldPath !== file.path)
    return `${name} is removed, and ${spellName(file.oldPath)} comes back as it was when the task began. ${lost}`;
  return `${name} becomes what it was when the task began. ${lost}`;
}
