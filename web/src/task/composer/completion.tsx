import { useLayoutEffect, useRef, useState, type KeyboardEvent, type RefObject } from 'react';
import { Options, useOptions, type Option } from '../../ui/options.tsx';
import { matching, optionOf, useCommands } from './commands.ts';
import { commandAt, completed, completedCommand, mentionAt, type Mention } from './mention.ts';
import { useFound, type PathSource } from './paths.ts';

/** What a message can name. */
export interface Sources {
  paths: PathSource;
  /** Returns the tasks whose agent may know the slash commands, the best first. */
  commandsOf: () => readonly string[];
}

/** The word at the caret and its completions. */
interface Completion {
  at: Mention;
  what: 'Files' | 'Commands';
  options: readonly Option[];
  note?: string | undefined;
  insert: (value: string) => { text: string; caret: number };
}

/**
 * Completes "@path", and "/command" at the beginning, in a text field. null: it completes nothing. `keys` handles a
 * key while the list is open and returns whether it did.
 */
export function useCompletion(
  field: RefObject<HTMLTextAreaElement | null>,
  text: string,
  change: (text: string) => void,
  sources: Sources | null,
) {
  const [caret, setCaret] = useState(0);
  const [dismissed, setDismissed] = useState(-1); // where the word begins whose list was closed
  const next = useRef<number | null>(null);
  const completion = useAt(text, Math.min(caret, text.length), sources, dismissed);
  const options = completion?.options ?? [];

  const choose = ({ value }: Option) => {
    if (!completion) return;
    const done = completion.insert(value);
    next.current = done.caret;
    change(done.text);
    setCaret(done.caret);
    if (!value.endsWith('/')) setDismissed(-1);
    list.reset();
  };
  const list = useOptions(options, completion !== null, choose);
  useLayoutEffect(() => {
    if (next.current === null) return;
    field.current?.focus();
    field.current?.setSelectionRange(next.current, next.current);
    next.current = null;
  });
  const keys = (event: KeyboardEvent): boolean => {
    // A complete command is sent.
    const complete = completion?.what === 'Commands' && options[list.chosen]?.value === completion.at.query;
    if (list.onKey(event, complete ? ['Tab'] : ['Enter', 'Tab'])) return true;
    if (event.key !== 'Escape' || !list.isShown || !completion) return false;
    event.preventDefault();
    event.stopPropagation();
    setDismissed(completion.at.start);
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
        const { value, selectionStart, selectionEnd } = event.currentTarget;
        setCaret(selectionStart === selectionEnd ? selectionEnd : 0);
        if (!wordAt(value, selectionEnd)) setDismissed(-1);
      },
    },
    list: <Found list={list} completion={completion} onChoose={choose} />,
  };
}

const wordAt = (text: string, caret: number) => commandAt(text, caret) ?? mentionAt(text, caret);

function useAt(text: string, caret: number, sources: Sources | null, dismissed: number): Completion | null {
  const command = sources ? commandAt(text, caret) : null;
  const mention = sources?.paths && !command ? mentionAt(text, caret) : null;
  const isClosed = (command ?? mention)?.start === dismissed;
  const paths = useFound(mention && !isClosed && sources ? sources.paths : null, mention?.query ?? '').data;
  const commands = useCommands(command && !isClosed && sources ? sources.commandsOf() : []).data;
  if (isClosed) return null;
  if (command) {
    const options = matching(commands?.commands ?? [], command.query).map(optionOf);
    return {
      at: command,
      what: 'Commands',
      options,
      insert: (name) => completedCommand(text, command, name),
    };
  }
  if (!mention) return null;
  return {
    at: mention,
    what: 'Files',
    options: (paths?.paths ?? []).map((path) => ({ value: path, label: path })),
    note: paths?.problem ?? (paths?.more ? 'More match: type on' : undefined),
    insert: (path) => completed(text, mention, path),
  };
}

function Found({
  list,
  completion,
  onChoose,
}: {
  list: ReturnType<typeof useOptions>;
  completion: Completion | null;
  onChoose: (option: Option) => void;
}) {
  const { what, options, note } = completion ?? { what: 'Files', options: [] };
  const one = what === 'Files' ? '1 file' : '1 command';
  const count = options.length === 1 ? one : `${options.length} ${what.toLowerCase()}`;
  return (
    <>
      <Options list={list} label={what} options={options} note={note} onChoose={onChoose} />
      <span role="status" className="visually-hidden">
        {list.isShown ? `${count}. Arrows choose, Tab inserts` : (note ?? '')}
      </span>
    </>
  );
}
