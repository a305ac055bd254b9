import { useId, useLayoutEffect, useRef, type ReactNode } from 'react';
import { IconButton } from './button.tsx';
import { Icon } from './icon.tsx';
import styles from './dialog.module.css';

/**
 * A native modal dialog: the browser handles focus, Esc and the backdrop. The element with `data-first` is focused
 * first, or the first field.
 */
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const dialog = ref.current;
    if (!dialog?.open) dialog?.showModal();
    // The browser would pick the first button, which closes the dialog.
    const first = dialog?.querySelector<HTMLElement>('[data-first]');
    (first ?? dialog?.querySelector<HTMLElement>('textarea, input, select'))?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      className={styles.dialog}
      aria-labelledby={id}
      onCancel={(e) => {
        e.preventDefault();
        onClose();
      }}
      onMouseDown={(e) => {
        if (e.target === ref.current) onClose();
      }}
    >
      <div className={styles.inside}>
        <header>
          <h2 id={id}>{title}</h2>
          <IconButton label="Close" icon={<Icon name="close" />} onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}
