import type { Diff } from '../app/types.ts';
import { Icon } from '../ui/icon.tsx';
import { GoneComment } from './comment.tsx';
import type { Layout } from './lines.tsx';
import type { ReviewedFiles } from './state.ts';
import { FileDiff } from './view.tsx';
import styles from './diff.module.css';

/** The element of a file, by its place in the changes. */
export const fileId = (at: number) => `changed-file-${at}`;

interface Props {
  taskId: string;
  diff: Diff;
  layout: Layout;
  reviewed: ReviewedFiles;
}

/** The changed files, and before them the comments whose lines are gone. */
export function Files({ taskId, diff, layout, reviewed }: Props) {
  return (
    <>
      {diff.truncated && (
        <p className={styles.cut} role="status">
          <Icon name="warn" size={14} /> There are too many changes to show all of them; the rest was left out.
        </p>
      )}
      <LeftOut diff={diff} />
      <InnerRepositories diff={diff} />
      {reviewed.gone.map((c) => (
        <GoneComment key={c.id} taskId={taskId} comment={c} />
      ))}
      {diff.files.map((f, i) => {
        const anchors = reviewed.anchors[i];
        return (
          anchors && (
            <FileDiff
              key={f.path}
              id={fileId(i)}
              taskId={taskId}
              file={f}
              patch={reviewed.patches[i]}
              layout={layout}
              viewed={reviewed.viewed[i] === true}
              anchors={anchors}
            />
          )
        );
      })}
    </>
  );
}

/** The repositories inside whose files are among the changes. */
function InnerRepositories({ diff }: { diff: Diff }) {
  const named = diff.innerRepositories ?? [];
  if (named.length === 0) return null;
  const more = (diff.innerRepositoryCount ?? 0) - named.length;
  return (
    <div className={styles.cut} role="status">
      <Icon name="warn" size={14} />
      <div>
        These directories are repositories of their own. Their files are part of the changes, their history is not:
        <ul>
          {named.map((path) => (
            <li key={path}>
              <code>{path}</code>
            </li>
          ))}
          {more > 0 && <li>and {more} more</li>}
        </ul>
      </div>
    </div>
  );
}

/** What the host did not read, so that the changes do not show it. */
function LeftOut({ diff }: { diff: Diff }) {
  const named = diff.leftOut ?? [];
  const more = (diff.leftOutCount ?? 0) - named.length;
  if (named.length === 0) {
    return null;
  }
  return (
    <div className={styles.cut} role="status">
      <Icon name="warn" size={14} />
      <div>
        These files are not part of the changes:
        <ul>
          {named.map((l) => (
            <li key={l.path}>
              <code>{l.path}</code> {l.reason}
            </li>
          ))}
          {more > 0 && <li>and {more} more</li>}
        </ul>
      </div>
    </div>
  );
}
