import { Button } from '../ui/button.tsx';
import { Copy } from '../ui/copy.tsx';
import styles from './factor.module.css';
import table from '../ui/table.module.css';

/** Recovery codes, which are shown only once. */
export function RecoveryCodes({ codes, onDone }: { codes: readonly string[]; onDone: () => void }) {
  return (
    <section className={styles.recovery} aria-label="Recovery codes">
      <p role="status">
        <strong>Keep these recovery codes where you find them without your phone.</strong> Each signs you in once
        instead of a code of the app. They are not shown again.
      </p>
      <ul className={styles.codes}>
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div className={table.start}>
        <Button kind="primary" onClick={onDone}>
          I have kept them
        </Button>
        <Copy text={codes.join('\n')} label="Copy all codes" />
      </div>
    </section>
  );
}
