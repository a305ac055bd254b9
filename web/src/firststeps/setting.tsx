import { Link } from '@tanstack/react-router';
import { useFirstSteps, useSteps } from './facts.ts';
import styles from '../settings/settings.module.css';

/** Whether the first page shows the first steps. */
export function FirstStepsSetting() {
  const [shown, show] = useFirstSteps();
  const open = useSteps()?.filter((s) => !s.done).length;
  return (
    <fieldset className={styles.section}>
      <legend>First steps</legend>
      <label className={styles.check}>
        <input
          type="checkbox"
          checked={shown === 'shown'}
          onChange={(e) => show(e.target.checked ? 'shown' : 'hidden')}
        />
        <span>
          Show the first steps on the first page
          <small>
            {open === 0 ? 'All are done, so it does not show them. ' : 'Until all are done. It stays in this browser. '}
            <Link to="/first-steps">See them</Link>
          </small>
        </span>
      </label>
    </fieldset>
  );
}
