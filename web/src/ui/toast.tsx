import { useSyncExternalStore } from 'react';
import { Button, IconButton } from './button.tsx';
import { Icon } from './icon.tsx';
import styles from './toast.module.css';

interface Toast {
  id: number;
  text: string;
  action?: { label: string; run: () => void } | undefined;
}

let toasts: readonly Toast[] = [];
let next = 1;
const listeners = new Set<() => void>();

function set(list: readonly Toast[]) {
  toasts = list;
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Shows a message for 5 seconds, or for 10 when it offers an action. */
export function toast(text: string, action?: { label: string; run: () => void }) {
  const id = next++;
  set([...toasts.slice(-2), { id, text, action }]);
  setTimeout(() => dismiss(id), action ? 10_000 : 5_000);
}

function dismiss(id: number) {
  set(toasts.filter((t) => t.id !== id));
}

export function Toasts() {
  const list = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className={styles.toasts} role="status" aria-live="polite">
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
