import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react';
import { spellName } from './bidi.ts';
import { isComposing } from './composing.ts';
import styles from './options.module.css';

export interface Option {
  value: string;
  label: string;
  note?: string;
}

/**
 * The list of a combobox (ARIA 1.2): the focus stays in the field, whose properties are `field`. `onKey` handles
 * the keys of an open list and returns whether it did.
 */
export function useOptions(options: readonly Option[], open: boolean, onChoose: (option: Option) => void) {
  const id = useId();
  const [at, setAt] = useState(0);
  const chosen = Math.min(at, options.length - 1);
  const isShown = open && options.length > 0;
  const onKey = (event: KeyboardEvent, keys: readonly string[] = ['Enter']): boolean => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const option = options[chosen];
    if (!isShown || isComposing(event) || event.altKey) return false;
    if (step) setAt((chosen + step + options.length) % options.length);
    else if (keys.includes(event.key) && !event.shiftKey && option) onChoose(option);
    else return false;
    event.preventDefault();
    return true;
  };
  return {
    isShown,
    chosen,
    id,
    onKey,
    reset: () => setAt(0),
    field: {
      role: 'combobox' as const,
      'aria-autocomplete': 'list' as const,
      'aria-expanded': isShown,
      'aria-controls': isShown ? id : undefined,
      'aria-activedescendant': isShown ? `${id}-${chosen}` : undefined,
    },
  };
}

/** The list that belongs to useOptions. A press on an option leaves the focus in the field. */
export function Options({
  list: { id, chosen, isShown },
  label,
  options,
  note,
  onChoose,
}: {
  list: Pick<ReturnType<typeof useOptions>, 'id' | 'chosen' | 'isShown'>;
  label: string;
  options: readonly Option[];
  /** Shown under the options, such as that there are more. */
  note?: string | undefined;
  onChoose: (option: Option) => void;
}) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  if (!isShown) return null;
  return (
    <div className={styles.list}>
      <div ref={list} id={id} role="listbox" aria-label={label}>
        {options.map((option, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus, and its keys choose
          <div
            key={option.value}
            id={`${id}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === chosen}
            className={styles.option}
            onMouseDown={(e) => e.preventDefault()}
            onClick={() => onChoose(option)}
          >
            <span title={option.label}>{spellName(option.label)}</span>
            {option.note && <small>{spellName(option.note)}</small>}
          </div>
        ))}
      </div>
      {note && <p className={styles.note}>{note}</p>}
    </div>
  );
}
