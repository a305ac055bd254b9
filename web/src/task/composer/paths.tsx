import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent, type RefObject } from 'react';
import { api } from '../../app/http.ts';
import type { PathList } from '../../app/types.ts';
import { Options, useOptions, type Option } from '../../ui/options.tsx';
import { completed, mentionAt } from './mention.ts';

/** Where the files of a message are: a task's workspace, or the project of a new task. null: there are none. */
export type PathSource = { taskId: string } | { hostId: string; project: string; branch: string } | null;

const typingMs = 120;

/** Completes "@path" in a text field. `keys` handles a key while the list is open and returns whether it did. */
export function usePaths(
  field: RefObject<HTMLTextAreaElement | null>,
  text: string,
  change: (text: string) => void,
  source: PathSource,
) {
  const [caret, setCaret] = useState(0);
  const [dismissed, setDismissed] = useState(-1); // where the mention begins whose list was closed
  const next = useRef<number | null>(null);
  const mention = source ? mentionAt(text, Math.min(caret, text.length)) : null;
  const open = mention !== null && mention.start !== dismissed;
  const { data } = useFound(open ? source : null, mention?.query ?? '');
  const options = open ? (data?.paths ?? []).map((path): Option => ({ value: path, label: path })) : [];

  const choose = ({ value }: Option) => {
    if (!mention) return;
    const done = completed(text, mention, value);
    next.current = done.caret;
    change(done.text);
    setCaret(done.caret);
    if (!value.endsWith('/')) setDismissed(-1);
    list.reset();
  };
  const list = useOptions(options, open, choose);
  useLayoutEffect(() => {
    if (next.current === null) return;
    field.current?.focus();
    field.current?.setSelectionRange(next.current, next.current);
    next.current = null;
  });
  const keys = (event: KeyboardEvent): boolean => {
    if (list.onKey(event, ['Enter', 'Tab'])) return true;
    if (event.key !== 'Escape' || !list.isShown || !mention) return false;
    event.preventDefault();
    event.stopPropagation();
    setDismissed(mention.start);
    return true;
  };
  return {
    keys,
    /** Properties of the field: a text field of several lines stays a textbox, so it has no aria-expanded. */
    field: {
      'aria-autocomplete': list.field['aria-autocomplete'],
      'aria-haspopup': 'listbox' as const,
      'aria-controls': list.field['aria-controls'],
      'aria-activedescendant': list.field['aria-activedescendant'],
      onSelect: (event: { currentTarget: HTMLTextAreaElement }) => {
        const { selectionStart, selectionEnd } = event.currentTarget;
        setCaret(selectionStart === selectionEnd ? selectionEnd : 0);
        if (!mentionAt(event.currentTarget.value, selectionEnd)) setDismissed(-1);
      },
    },
    list: (
      <Paths
        list={list}
        options={options}
        note={open ? (data?.problem ?? (data?.more ? 'More match: type on' : undefined)) : undefined}
        onChoose={choose}
      />
    ),
  };
}

function Paths({
  list,
  options,
  note,
  onChoose,
}: {
  list: ReturnType<typeof useOptions>;
  options: readonly Option[];
  note: string | undefined;
  onChoose: (option: Option) => void;
}) {
  const count = options.length === 1 ? '1 file' : `${options.length} files`;
  return (
    <>
      <Options list={list} label="Files" options={options} note={note} onChoose={onChoose} />
      <span role="status" className="visually-hidden">
        {list.isShown ? `${count}. Arrows choose, Tab inserts` : (note ?? '')}
      </span>
    </>
  );
}

function useFound(source: PathSource, query: string) {
  const [searched, setSearched] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setSearched(query), typingMs);
    return () => clearTimeout(timer);
  }, [query]);
  return useQuery({
    queryKey: ['paths', source, searched],
    enabled: source !== null,
    staleTime: 5000,
    retry: false,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => api<PathList>('GET', pathOf(source, searched), undefined, signal),
  });
}

function pathOf(source: PathSource, q: string): string {
  if (source === null) throw new Error('no source of files');
  if ('taskId' in source) return `/api/tasks/${source.taskId}/paths?${new URLSearchParams({ q })}`;
  return `/api/paths?${new URLSearchParams({ ...source, q })}`;
}
