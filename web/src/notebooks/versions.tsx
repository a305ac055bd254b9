import { useState } from 'react';
import { parsePatch } from '../diff/parse.ts';
import { Hunks } from '../diff/lines.tsx';
import { CodeBlock } from '../task/markdown/code.tsx';
import { Failure } from '../ui/failure.tsx';
import { Loading } from '../ui/page.tsx';
import { Ago } from '../ui/time.tsx';
import { useVersions } from './api.ts';
import { VerificationBadge } from './evidence.tsx';
import styles from './notebooks.module.css';

/** A unified diff, shown without its file headers. */
export function VersionDiff({ diff }: { diff: string }) {
  const hunks = parsePatch(diff).flatMap((f) => f.hunks);
  return (
    <div className={styles.diff} tabIndex={0} role="region" aria-label="Changes">
      <Hunks hunks={hunks} layout="unified" />
    </div>
  );
}

export function Versions({ sourceId }: { sourceId: string }) {
  const query = useVersions(sourceId, true);
  const [open, setOpen] = useState<number | null>(null);
  if (query.error)
    return <Failure what="The versions could not be loaded" error={query.error} retry={() => void query.refetch()} />;
  if (!query.data) return <Loading what="versions" />;
  return (
    <ol className={styles.versions} reversed>
      {[...query.data].reverse().map((v) => (
        <li key={v.version}>
          <button
            type="button"
            aria-expanded={open === v.version}
            onClick={() => setOpen(open === v.version ? null : v.version)}
          >
            <strong>Version {v.version}</strong>
            <span dir="auto">{v.description || (v.version === 1 ? 'As it was saved' : '')}</span>
            <span className={styles.agent}>{v.author}</span>
            <VerificationBadge verification={v.verification} />
            <Ago at={v.createdAt} />
          </button>
          {open === v.version &&
            (v.contentOmitted ? (
              <p>This version is too large to be listed.</p>
            ) : v.diff ? (
              <VersionDiff diff={v.diff} />
            ) : (
              <CodeBlock code={v.content} language={v.verification?.language ?? ''} growing={false} />
            ))}
        </li>
      ))}
    </ol>
  );
}
