import { Button } from './button.tsx';
import { Copy } from './copy.tsx';
import styles from './table.module.css';

/** A secret that is shown only once, with a copy button. */
export function Secret({ what, value, onDone }: { what: string; value: string; onDone: () => void }) {
  return (
    <div className={styles.secret} role="status">
      <p>
        <strong>{what}</strong> Copy it now: it is not shown again.
      </p>
      <div>
        <code>{value}</code>
        <Copy text={value} label="Copy secret" />
        <Button small onClick={onDone}>
          Done
        </Button>
      </div>
    </div>
  );
}
