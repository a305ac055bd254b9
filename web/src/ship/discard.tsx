import { useMutation, useQueryClient } from '@tanstack/react-query';
import { createContext, use, useMemo, useState, type ReactNode } from 'react';
import { readAgain } from '../app/again.ts';
import { client, describe } from '../app/http.ts';
import type { DiffFile, Task } from '../app/types.ts';
import type { Changes } from '../diff/query.ts';
import { hunkText, placeOf, type Hunk } from '../diff/parse.ts';
import { spellName } from '../ui/bidi.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import tableStyles from '../ui/table.module.css';
import { toast } from '../ui/toast.tsx';
import { useTaskWorkspace } from '../workspaces/api.ts';
import styles from './ship.module.css';

/** The changes of a file, or one hunk of them. */
interface Target {
  file: DiffFile;
  hunk?: Hunk;
}

interface Discards {
  ask: (target: Target) => void;
  /** Whether the host discards hunks. */
  hunks: boolean;
}

/** Discards changes after a question; null where that is not possible. */
const Discarding = createContext<Discards | null>(null);

/** Characters of a hunk that a host accepts, if none of them takes more than a byte. */
const longestHunk = 256 << 10;

/** Lets the present changes, if they are known, be discarded by file and by hunk while no turn is open, if the host does that. */
export function DiscardFiles(props: { task: Task; changes: Changes | undefined; children: ReactNode }) {
  const { task, changes, children } = props;
  const workspace = useTaskWorkspace(task);
  const [asked, setAsked] = useState<Target | null>(null);
  const queries = useQueryClient();
  const { snapshot = '' } = changes ?? {};
  const files = changes?.diff?.files ?? [];
  const discard = useMutation({
    mutationFn: ({ file, hunk }: Target) =>
      hunk
        ? client.discardHunk(task.id, { path: file.path, text: hunkText(hunk) }, { snapshot })
        : client.discard(task.id, pathsOf(file, files), { snapshot }),
    onSuccess: (_, { file, hunk }) =>
      toast(`${hunk ? 'A part of the' : 'The'} changes of ${spellName(file.path)} ${hunk ? 'is' : 'are'} discarded.`),
    onError: (error) => {
      const { message, hint } = describe(error);
      toast(`Not discarded: ${[message, hint].filter(Boolean).join('. ')}`);
    },
    onSettled: () => {
      void readAgain(queries, ['diff', task.id]);
      void readAgain(queries, ['workspace', task.id]);
    },
  });
  const { ships } = workspace ?? {};
  const possible = changes !== undefined && task.openTurn === null && ships?.includes('discard') && !discard.isPending;
  const hunks = possible === true && ships?.includes('discard-hunk') === true;
  const discards = useMemo(() => (possible ? { ask: setAsked, hunks } : null), [possible, hunks]);
  return (
    <Discarding value={discards}>
      {children}
      {asked && (
        <Dialog title={asked.hunk ? 'Discard this part?' : 'Discard the changes?'} onClose={() => setAsked(null)}>
          <p>{asked.hunk ? lossOfHunk(asked.file, asked.hunk) : lossOf(asked.file)}</p>
          {!asked.hunk && othersOf(asked.file, files).map((f) => <p key={f.path}>{lossOf(f)}</p>)}
          <div className={tableStyles.row}>
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
  const discards = use(Discarding);
  if (!discards) return null;
  return (
    <IconButton
      label={`Discard: ${spellName(file.path)}`}
      icon={<Icon name="trash" />}
      onClick={() => discards.ask({ file })}
    />
  );
}

/** The button of a hunk. A hunk of which only the first lines are shown has none. */
export function DiscardHunkButton({ file, hunk }: { file: DiffFile; hunk: Hunk }) {
  const discards = use(Discarding);
  if (!discards?.hunks || hunk.cut || lengthOf(hunk) > longestHunk) return null;
  return (
    <IconButton
      className={styles.discardHunk}
      label={`Discard ${placeOf(hunk)}: ${spellName(file.path)}`}
      icon={<Icon name="trash" size={14} />}
      onClick={() => discards.ask({ file, hunk })}
    />
  );
}

const lengthOf = (hunk: Hunk) => hunk.lines.reduce((n, l) => n + l.text.length + 2, hunk.header.length);

/** A renamed file has two paths: the new one is removed, and the old one comes back. */
const ownPathsOf = (file: DiffFile) =>
  file.oldPath && file.oldPath !== file.path ? [file.path, file.oldPath] : [file.path];

/** The files that are discarded with one: a file and those below its path cannot be in the work tree together. */
export function othersOf(file: DiffFile, files: readonly DiffFile[]): DiffFile[] {
  const found = new Set([file]);
  const inTheWay = (a: string, b: string) => a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
  for (const one of found)
    for (const f of files) if (ownPathsOf(f).some((p) => ownPathsOf(one).some((q) => inTheWay(p, q)))) found.add(f);
  return [...found].slice(1);
}

const pathsOf = (file: DiffFile, files: readonly DiffFile[]) => [file, ...othersOf(file, files)].flatMap(ownPathsOf);

const lost = 'Its changes are lost, unless they are committed.';

/** What discarding the changes of a file loses. */
export function lossOf(file: DiffFile): string {
  const name = spellName(file.path);
  if (file.status === 'added') return `${name} is removed. Its content is lost, unless it is committed.`;
  if (file.status === 'deleted') return `${name} comes back as it was when the task began.`;
  if (file.oldPath && file.oldPath !== file.path)
    return `${name} is removed, and ${spellName(file.oldPath)} comes back as it was when the task began. ${lost}`;
  return `${name} becomes what it was when the task began. ${lost}`;
}

/** What discarding a hunk loses. The only hunk of a new or a deleted file is all of it. */
export function lossOfHunk(file: DiffFile, hunk: Hunk): string {
  if (file.status === 'added' || file.status === 'deleted') return lossOf(file);
  return `In ${spellName(file.path)}, this part (${placeOf(hunk)}) becomes what it was when the task began. ${lost}`;
}
