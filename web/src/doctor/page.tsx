import { AdminPage } from '../auth/admin.tsx';
import { useIsAdmin } from '../auth/session.ts';
import { useTitle } from '../inbox/attention.ts';
import { StateBadge, type State } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Icon } from '../ui/icon.tsx';
import { Empty } from '../ui/page.tsx';
import { Ago } from '../ui/time.tsx';
import { problemsOf, useDoctor, type Finding, type Level } from './api.ts';
import styles from './doctor.module.css';

const levels: Record<Level, State> = {
  error: { tone: 'bad', icon: 'warn', label: 'Error' },
  warning: { tone: 'wait', icon: 'warn', label: 'Warning' },
  ok: { tone: 'good', icon: 'check', label: 'Works' },
};

/** What `bellhop doctor` finds about the broker and its hosts. */
export function DoctorPage() {
  useTitle('Doctor');
  const query = useDoctor(useIsAdmin());
  return (
    <AdminPage
      title="Doctor"
      refusal={{
        icon: 'pulse',
        title: 'Only administrators run the doctor',
        text: 'Ask your administrator when tasks do not start or streams do not arrive.',
      }}
      lead="Checks the database, the broker's addresses and every agent host, and says what to do about what it finds."
      actions={
        <Button disabled={query.isFetching} onClick={() => void query.refetch()}>
          <Icon name="retry" size={14} />
          Check again
        </Button>
      }
    >
      {query.isFetching && (
        <p className={styles.running} role="status">
          Checking … this takes up to 15 seconds.
        </p>
      )}
      {query.error && !query.isFetching && (
        <Failure what="The checks could not run" error={query.error} retry={() => void query.refetch()} />
      )}
      {query.data && <Findings findings={query.data.findings} at={query.dataUpdatedAt} />}
    </AdminPage>
  );
}

function Findings({ findings, at }: { findings: readonly Finding[]; at: number }) {
  const problems = problemsOf(findings);
  const good = findings.filter((f) => f.level === 'ok');
  return (
    <>
      <p className={styles.at}>
        Checked <Ago at={new Date(at).toISOString()} />
      </p>
      {problems.length === 0 ? (
        <Empty icon="check" title="Nothing to do">
          <p>{good.length === 1 ? 'One check' : `All ${good.length} checks`} passed.</p>
        </Empty>
      ) : (
        <List label="What needs action" findings={problems} />
      )}
      {good.length > 0 && (
        <details className={styles.good}>
          <summary>{good.length === 1 ? '1 check passed' : `${good.length} checks passed`}</summary>
          <List label="What works" findings={good} />
        </details>
      )}
    </>
  );
}

function List({ label, findings }: { label: string; findings: readonly Finding[] }) {
  return (
    <ul className={styles.list} aria-label={label}>
      {findings.map((f, i) => (
        <li key={i}>
          <header>
            <StateBadge state={levels[f.level]} />
            <strong>{f.check}</strong>
            {f.where && <bdi className={styles.where}>{f.where}</bdi>}
          </header>
          <p dir="auto">{f.message}</p>
          {f.remedy && (
            <p className={styles.remedy} dir="auto">
              <Icon name="right" size={13} /> {f.remedy}
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}
