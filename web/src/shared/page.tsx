import type { Message, SharedTranscript } from '@bellhop/client';
import type { UIMessage } from 'ai';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { addEndings, addQuestions, type Endings, type Questions } from '../task/turns.ts';
import { groupRows, mergeTurns } from '../task/thread/merge.ts';
import { TurnView } from '../task/thread/turn.tsx';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Bell } from '../ui/icon.tsx';
import { saveBlob } from '../ui/save.ts';
import { exportShared, readShared, tokenOf } from './read.ts';
import styles from './shared.module.css';

interface Shown {
  head: Pick<SharedTranscript, 'title' | 'sharedAt' | 'expiresAt' | 'more' | 'nextAfter'>;
  rows: readonly Message[];
  endings: Endings;
  questions: Questions;
}

function add(shown: Shown | null, { messages, turns, interactions, ...head }: SharedTranscript): Shown {
  return {
    head,
    rows: [...(shown?.rows ?? []), ...messages],
    endings: addEndings(shown?.endings ?? new Map(), turns),
    questions: addQuestions(shown?.questions ?? new Map(), interactions),
  };
}

const none: ReadonlyMap<string, UIMessage> = new Map();

/** A shared task: its messages up to the time when it was shared. Nothing can be done with it. */
export function SharedPage() {
  const token = useToken();
  const { shown, error, loading, next } = useTranscript(token);
  useEffect(() => {
    if (shown) document.title = `${shown.head.title} · Bellhop`;
  }, [shown]);
  return (
    <main className={styles.page}>
      <div className={styles.column}>
        <header className={styles.head}>
          <Bell className={styles.mark} />
          <h1 dir="auto">{shown?.head.title ?? 'A shared task'}</h1>
          {shown && <About shown={shown} token={token} />}
        </header>
        {shown && <Turns shown={shown} />}
        {error !== undefined && <Failure what="The shared task cannot be shown" error={error} retry={next} />}
        {loading && (
          <p className={styles.note} role="status">
            Loading the shared task …
          </p>
        )}
        {shown?.head.more && !loading && (
          <Button small kind="quiet" className={styles.more} onClick={next}>
            Show more messages
          </Button>
        )}
      </div>
    </main>
  );
}

function About({ shown, token }: { shown: Shown; token: string }) {
  const [failed, setFailed] = useState<unknown>();
  const save = () => {
    setFailed(undefined);
    exportShared(token).then((blob) => saveBlob(blob, 'bellhop-task.md'), setFailed);
  };
  const date = (at: string) => new Date(at).toLocaleString();
  return (
    <>
      <p className={styles.note}>
        Shared {date(shown.head.sharedAt)}, can be read until {date(shown.head.expiresAt)}. Secrets are masked; files
        and the words of answers are left out.
      </p>
      <Button small onClick={save}>
        Download as Markdown
      </Button>
      {failed !== undefined && <Failure what="The document was not saved" error={failed} retry={save} />}
    </>
  );
}

function Turns({ shown }: { shown: Shown }) {
  const turns = useMemo(() => mergeTurns(groupRows(shown.rows, []), none, undefined, false), [shown.rows]);
  return (
    <section className={styles.turns} aria-label="Conversation">
      {turns.map((t) => (
        <TurnView
          key={t.user?.id ?? t.turnId}
          user={t.user}
          group={t.group}
          live={undefined}
          questions={shown.questions.get(t.turnId)}
          ending={shown.endings.get(t.turnId)}
          running={false}
          isShared
        />
      ))}
    </section>
  );
}

function useToken(): string {
  const [token, setToken] = useState(() => tokenOf(location));
  useEffect(() => {
    const follow = () => setToken(tokenOf(location));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return token;
}

/** Reads the first page of a transcript; next reads the one after the last. */
function useTranscript(token: string) {
  const [shown, setShown] = useState<Shown | null>(null);
  const [error, setError] = useState<unknown>();
  const [loading, setLoading] = useState(true);
  const read = useCallback(
    (before: Shown | null, isWanted: () => boolean) => {
      setLoading(true);
      setError(undefined);
      readShared(token, before?.head.nextAfter ?? 0)
        .then(
          (page) => isWanted() && setShown(add(before, page)),
          (failure: unknown) => isWanted() && setError(failure),
        )
        .finally(() => isWanted() && setLoading(false));
    },
    [token],
  );
  useEffect(() => {
    let wanted = true;
    setShown(null);
    read(null, () => wanted);
    return () => {
      wanted = false;
    };
  }, [read]);
  return { shown, error, loading, next: () => read(shown, () => true) };
}
