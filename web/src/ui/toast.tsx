import { useEffect, useSyncExternalStore } from 'react';
import { Button, IconButton } from './button.tsx';
import { Icon } from './icon.tsx';
import styles from './toast.module.css';

interface Toast {
  id: number;
  text: string;
  action?: { label: string; run: () => void } | undefined;
}

let toasts: readonly Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function set(list: readonly Toast[]) {
  toasts = list;
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** The time that each message is still shown, and its timer; none while the messages are held. */
const clocks = new Map<number, { left: number; since: number; timer?: ReturnType<typeof setTimeout> }>();
let held = false;

/** Shows a message for 5 seconds, or for 10 when it offers an action. The time stops while one of them is held. */
export function toast(text: string, action?: { label: string; run: () => void }, ms = action ? 10_000 : 5_000) {
  const id = nextId++;
  set([...toasts.slice(-2), { id, text, action }]);
  clocks.set(id, { left: ms, since: 0 });
  if (!held) start(id);
}

function dismiss(id: number) {
  clearTimeout(clocks.get(id)?.timer);
  clocks.delete(id);
  set(toasts.filter((t) => t.id !== id));
}

function start(id: number) {
  const clock = clocks.get(id);
  if (!clock) return;
  clock.since = Date.now();
  clock.timer = setTimeout(() => dismiss(id), clock.left);
}

/** Keeps the messages as long as the pointer or the focus is in one of them. */
function hold(on: boolean) {
  if (held === on) return;
  held = on;
  for (const [id, clock] of clocks) {
    if (!held) {
      start(id);
      continue;
    }
    clearTimeout(clock.timer);
    clock.left = Math.max(1000, clock.left - (Date.now() - clock.since));
  }
}

export function Toasts() {
  const list = useSyncExternalStore(subscribe, () => toasts);
  useEffect(() => {
    if (list.length === 0) hold(false); // the held messages are gone, and no event reports it
  }, [list]);
  return (
    <div
      className={styles.toasts}
      role="status"
      aria-live="polite"
      onPointerEnter={() => hold(true)}
      onPointerLeave={() => hold(false)}
      onFocus={() => hold(true)}
      onBlur={() => hold(false)}
    >
      {list.map((t) => (
        <div key={t.id} className={styles.toast}>
          <span>{t.text}</span>
          {t.action && (
            <Button
              small
              kind="quiet"
              className={styles.action}
              onClick={() => {
                t.action?.run();
                dismiss(t.id);
              }}
            >
              {t.action.label}
            </Button>
          )}
          <IconButton label="Dismiss" icon={<Icon name="close" size={14} />} onClick={() => dismiss(t.id)} />
        </div>
      ))}
    </div>
  );
}
