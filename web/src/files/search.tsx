import { useState } from 'react';
import type { FileMatch, Task } from '../app/types.ts';
import { useFound } from '../task/composer/paths.ts';
import { escapeBidi, spellName } from '../ui/bidi.ts';
import { Failure } from '../ui/failure.tsx';
import { Loading } from '../ui/page.tsx';
import { useMatches, type TextSearch } from './api.ts';
import styles from './files.module.css';

export type Where = 'names' | 'texts';

interface Props {
  where: Where;
  onWhere: (where: Where) => void;
  search: TextSearch;
  onSearch: (search: TextSearch) => void;
}

/** The form of a search. Names are searched while the user types, texts when Enter is pressed. */
export function SearchForm({ where, onWhere, search, onSearch }: Props) {
  const [text, setText] = useState(search.q);
  const change = (next: string) => {
    setText(next);
    if (where === 'names' || next === '') onSearch({ ...search, q: next });
  };
  return (
    <form
      className={styles.search}
      role="search"
      aria-label="Files"
      onSubmit={(event) => {
        event.preventDefault();
        onSearch({ ...search, q: text });
      }}
    >
      <select aria-label="Search in" value={where} onChange={(e) => onWhere(e.target.value as Where)}>
        <option value="names">Names</option>
        <option value="texts">Texts</option>
      </select>
      <input
        type="search"
        aria-label="Search files"
        placeholder={where === 'names' ? 'Part of a path' : 'Text, then Enter'}
        value={text}
        maxLength={200}
        onChange={(e) => change(e.target.value)}
        onKeyDown={(e) => {
          if (e.key === 'Escape' && text !== '') {
            e.stopPropagation();
            change('');
          }
        }}
      />
      {where === 'texts' && (
        <>
          <Toggle
            label="Match case"
            text="Aa"
            on={search.matchCase}
            set={(matchCase) => onSearch({ ...search, matchCase })}
          />
          <Toggle
            label="Regular expression"
            text=".*"
            on={search.regexp}
            set={(regexp) => onSearch({ ...search, regexp })}
          />
        </>
      )}
    </form>
  );
}

function Toggle({ label, text, on, set }: { label: string; text: string; on: boolean; set: (on: boolean) => void }) {
  return (
    <button type="button" aria-label={label} title={label} aria-pressed={on} onClick={() => set(!on)}>
      {text}
    </button>
  );
}

interface ResultProps {
  task: Task;
  search: TextSearch;
  onOpen: (path: string, line?: number) => void;
}

/** The paths that match a search for names. */
export function FoundNames({ task, search, onOpen }: ResultProps) {
  const found = useFound({ taskId: task.id }, search.q);
  const files = (found.data?.paths ?? []).filter((p) => !p.endsWith('/'));
  return (
    <div className={styles.found}>
      {found.isPending && <Loading what="the names" />}
      {found.error && <Failure what="The search failed" error={found.error} retry={() => void found.refetch()} />}
      {found.data && (
        <p role="status" className={styles.count}>
          {found.data.problem ??
            (files.length === 0 ? 'No file has such a name.' : count(files.length, 'file', found.data.more))}
        </p>
      )}
      <ul>
        {files.map((path) => (
          <li key={path}>
            <button type="button" onClick={() => onOpen(path)}>
              <bdi>{spellName(path)}</bdi>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The lines that match a search for a text, by file. */
export function FoundLines({ task, search, onOpen }: ResultProps) {
  const found = useMatches(task, search);
  const byFile = grouped(found.data?.matches ?? []);
  return (
    <div className={styles.found}>
      {found.isFetching && <Loading what="the lines" />}
      {found.error && <Failure what="The search failed" error={found.error} retry={() => void found.refetch()} />}
      {found.data && (
        <p role="status" className={styles.count}>
          {found.data.matches.length === 0
            ? 'No line was found'
            : count(found.data.matches.length, 'line', found.data.more)}
          {` in ${count(found.data.files, 'searched file')}`}
          {found.data.matches.length === 0 && found.data.more && '; the search ended before all were read'}
          {(found.data.skipped ?? 0) > 0 && `; ${found.data.skipped} binary or large ones were left out`}.
        </p>
      )}
      {[...byFile].map(([path, matches]) => (
        <section key={path} aria-label={spellName(path)}>
          <h3>
            <bdi>{spellName(path)}</bdi>
          </h3>
          <ul>
            {matches.map((m) => (
              <li key={m.line}>
                <button type="button" onClick={() => onOpen(path, m.line)}>
                  <span className={styles.number}>{m.line}</span> <Found match={m} />
                </button>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

function grouped(matches: readonly FileMatch[]): Map<string, FileMatch[]> {
  const files = new Map<string, FileMatch[]>();
  for (const match of matches) files.set(match.path, [...(files.get(match.path) ?? []), match]);
  return files;
}

function Found({ match: { before = '', match, after = '' } }: { match: FileMatch }) {
  return (
    <code>
      {escapeBidi(before.trimStart())}
      <mark>{escapeBidi(match)}</mark>
      {escapeBidi(after)}
    </code>
  );
}

const count = (n: number, what: string, more = false) =>
  `${n.toLocaleString('en')}${more ? ' or more' : ''} ${what}${n === 1 && !more ? '' : 's'}`;
