import { useState, type ReactNode } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import styles from './table.module.css';

/** A button for an action that cannot be undone: it names the consequence and asks once. */
export function ConfirmButton({
  label,
  title,
  text,
  action,
  onConfirm,
}: {
  label: string;
  title: string;
  text: ReactNode;
  action: string;
  onConfirm: () => void;
}) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button small kind="danger" onClick={() => setOpen(true)} aria-label={`${label}: ${title}`}>
        {label}
      </Button>
      {open && (
        <Dialog title={title} onClose={() => setOpen(false)}>
          <div>{text}</div>
          <div className={styles.row}>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button
              kind="danger"
              onClick={() => {
                setOpen(false);
                onConfirm();
              }}
            >
              {action}
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}
