import { useRef, useState, type CSSProperties } from 'react';
import type { Task } from '../app/types.ts';
import panelStyles from '../diff/diff.module.css';
import { Edge, useWidth } from '../diff/resize.tsx';
import { readSetting, writeSetting } from '../settings/store.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { useMedia } from '../ui/media.ts';
import styles from './terminal.module.css';
import { useTerminal } from './terminal.ts';

interface Props {
  task: Task;
  onClose: () => void;
}

/** A terminal in a task's workspace beside its conversation. React.lazy requires the default export. */
export default function TerminalPanel({ task, onClose }: Props) {
  const [percent, setPercent] = useWidth();
  const alone = useMedia('(max-width: 1100px)');
  const panel = useRef<HTMLElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const toButtons = () => panel.current?.querySelector<HTMLElement>('header button')?.focus();
  const [readable, setReadable] = useReadable();
  const { end, note, again, press, stop } = useTerminal(task.id, box, readable, toButtons);
  return (
    <aside
      ref={panel}
      className={panelStyles.panel}
      style={{ '--share': `${percent}%` } as CSSProperties}
      aria-label="Terminal"
    >
      <Edge percent={percent} label="Width of the terminal" onChange={setPercent} />
      <header className={panelStyles.head}>
        {alone && <h1 className="visually-hidden">{task.title}</h1>}
        <h2>Terminal</h2>
        <span className={panelStyles.space} />
        <Button small kind="quiet" aria-pressed={readable} onClick={() => setReadable(!readable)}>
          Screen reader
        </Button>
        {!end && (
          <Button small kind="quiet" onClick={stop}>
            End
          </Button>
        )}
        <IconButton label="Close terminal" icon={<Icon name="close" />} onClick={onClose} />
      </header>
      <p id="terminal-help" className="visually-hidden">
        Shift and F6 leave the terminal.
      </p>
      <div role="status">
        {end && (
          <p className={styles.ended}>
            {end.reason}.{' '}
            <Button small onClick={again}>
              {end.lost ? 'Connect again' : 'Open another terminal'}
            </Button>
          </p>
        )}
        {!end && note && <p className={styles.ended}>{note}.</p>}
      </div>
      <div ref={box} className={styles.screen} data-terminal />
      {!end && <Keys press={press} />}
    </aside>
  );
}

const readableSetting = 'terminal-readable';

/**
 * Whether screen readers get the lines. It is off at first: with it, xterm.js ignores text that comes without keys,
 * such as from an emoji picker.
 */
function useReadable() {
  const [readable, setReadable] = useState(() => readSetting(readableSetting) === 'yes');
  const change = (next: boolean) => {
    writeSetting(readableSetting, next ? 'yes' : null);
    setReadable(next);
  };
  return [readable, change] as const;
}

const keys = [
  ['Esc', '\x1b'],
  ['Tab', '\t'],
  ['Ctrl C', '\x03'],
  ['Ctrl D', '\x04'],
  ['←', '\x1b[D'],
  ['↑', '\x1b[A'],
  ['↓', '\x1b[B'],
  ['→', '\x1b[C'],
] as const;

/** Keys that a touch screen's keyboard lacks. */
function Keys({ press }: { press: (text: string) => void }) {
  const touch = useMedia('(pointer: coarse)');
  if (!touch) return null;
  return (
    <div className={styles.keys} role="toolbar" aria-label="Keys of the terminal">
      {keys.map(([name, text]) => (
        <button key={name} type="button" onPointerDown={(e) => e.preventDefault()} onClick={() => press(text)}>
          {name}
        </button>
      ))}
    </div>
  );
}
