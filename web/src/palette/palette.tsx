import { useNavigate } from '@tanstack/react-router';
import { useDeferredValue, useEffect, useId, useRef, useState, type KeyboardEvent } from 'react';
import { useMe, useSignOut } from '../auth/session.ts';
import { useHiddenTasks, useTasks } from '../tasks/api.ts';
import { isComposing } from '../ui/composing.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import { currentActs } from './acts.ts';
import { entriesOf, matching, type Entry } from './entries.ts';
import styles from './palette.module.css';

const shownTasks = 8;

/** Finds a task, a page or a command by a few letters. */
export function Palette({ onClose, onNew, onHelp }: { onClose: () => void; onNew: () => void; onHelp: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const { entries, pending } = useEntries(text);
  const run = useRun({ onNew, onHelp });
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const chosen = Math.min(at, entries.length - 1);
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);

  const choose = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    run(entry);
  };
  const onKey = (event: KeyboardEvent) => {
    if (isComposing(event)) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt((chosen + step + entries.length) % Math.max(1, entries.length));
    else if (event.key === 'Enter') choose(entries[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-label="Find a task, a page or an act"
        aria-expanded="true"
        aria-autocomplete="list"
        aria-controls={id}
        aria-activedescendant={entries[chosen] && `${id}-${entries[chosen].id}`}
        placeholder="Find a task, a page or an act"
        autoComplete="off"
        value={text}
        onChange={(e) => {
          setText(e.target.value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <div ref={list} id={id} role="listbox" aria-label="Results" className={styles.list}>
        {entries.map((entry, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the focus, and its Enter chooses
          <div
            key={entry.id}
            id={`${id}-${entry.id}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === chosen}
            className={styles.entry}
            onClick={() => choose(entry)}
            onMouseMove={() => setAt(i)}
          >
            <Icon name={entry.icon} size={14} />
            <span dir="auto">{entry.label}</span>
          </div>
        ))}
      </div>
      <p className={styles.note} role="status">
        {entries.length === 0 && (pending ? 'Searching …' : `Nothing matches “${text}”.`)}
      </p>
    </Dialog>
  );
}

/** Commands and pages that match, then tasks. Without text the latest tasks come first. */
function useEntries(text: string): { entries: Entry[]; pending: boolean } {
  const wanted = text.trim();
  const admin = useMe().data?.admin ?? false;
  const [acts] = useState(currentActs); // an act keeps its place while the palette is open
  const found = useTasks(useDeferredValue(wanted), false);
  const hidden = useHiddenTasks();
  const tasks = (found.data?.pages[0]?.tasks ?? [])
    .filter((t) => !hidden.has(t.id) && !t.archived)
    .slice(0, shownTasks)
    .map((t): Entry => ({ id: t.id, label: t.title, icon: 'right', to: `/tasks/${t.id}` }));
  const others = matching(entriesOf(admin, acts), wanted);
  return { entries: wanted ? [...others, ...tasks] : [...tasks, ...others], pending: found.isPending };
}

function useRun({ onNew, onHelp }: { onNew: () => void; onHelp: () => void }): (entry: Entry) => void {
  const navigate = useNavigate();
  const signOut = useSignOut();
  return ({ id, to, run }) => {
    if (run) run();
    else if (to) void navigate({ to });
    else if (id === 'new') onNew();
    else if (id === 'help') onHelp();
    else signOut.mutate();
  };
}
