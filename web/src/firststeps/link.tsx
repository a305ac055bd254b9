import { Link } from '@tanstack/react-router';
import { Icon } from '../ui/icon.tsx';
import { useFirstSteps, useSteps } from './facts.ts';
import styles from './firststeps.module.css';

/** Leads to the first steps while one is open. A phone shows it above the list of tasks. */
export function FirstStepsLink() {
  const [shown] = useFirstSteps();
  const steps = useSteps();
  if (shown === 'hidden' || !steps || steps.every((s) => s.done)) return null;
  return (
    <Link to="/first-steps" className={styles.link}>
      First steps: {steps.filter((s) => s.done).length} of {steps.length} done
      <Icon name="right" size={13} />
    </Link>
  );
}
