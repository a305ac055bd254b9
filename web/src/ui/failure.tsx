import { describe } from '../app/http.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import styles from './failure.module.css';

interface Props {
  what: string;
  error: unknown;
  retry?: (() => void) | undefined;
  /** What the button says instead of Retry. */
  label?: string | undefined;
}

/** Shows an error: what failed, why, where, and a button to try again. */
export function Failure({ what, error, retry, label = 'Retry' }: Props) {
  const { message, hint, where } = describe(error);
  return (
    <div className={styles.failure} role="alert">
      <Icon name="warn" className={styles.icon} />
      <div className={styles.text}>
        <strong>{what}</strong>
        <p>
          {message}
          {hint && `. ${hint}`}
        </p>
        {where && <p className={styles.where}>{where}</p>}
      </div>
      {retry && (
        <Button small onClick={retry}>
          {label}
        </Button>
      )}
    </div>
  );
}
