import { useState } from 'react';
import { Field } from '../ui/field.tsx';
import { Options, useOptions, type Option } from '../ui/options.tsx';
import type { Branches } from './choices.ts';

/** How many branches are shown at a time; typing finds the others. */
const shown = 50;

/** Chooses the branch that a new task starts from. Typing searches; a host may have more branches than it lists. */
export function BranchPicker({
  branches,
  value,
  onChange,
}: {
  branches: Branches;
  value: string;
  onChange: (branch: string) => void;
}) {
  const [typed, setTyped] = useState<string | null>(null); // null while the field is not being changed
  const unset = branches.unset ? `Default (${branches.unset})` : 'Default';
  const { options, hidden } = matchingBranches(branches, unset, typed ?? '');
  const choose = (option: Option) => {
    onChange(option.value);
    setTyped(null);
  };
  const list = useOptions(options, typed !== null, choose);
  return (
    <Field label="Branch">
      {(id) => (
        <div>
          <input
            id={id}
            type="text"
            {...list.field}
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            placeholder={unset}
            value={typed ?? value}
            onFocus={(e) => e.currentTarget.select()}
            onClick={() => setTyped((before) => before ?? '')}
            onChange={(e) => {
              setTyped(e.target.value);
              list.reset();
            }}
            onBlur={() => setTyped(null)}
            onKeyDown={(e) => {
              if (list.onKey(e)) return;
              if (e.key === 'Escape' && list.isShown) {
                e.stopPropagation();
                setTyped(null);
              } else if (e.key === 'ArrowDown') {
                e.preventDefault();
                setTyped('');
              } else if (e.key === 'Enter') e.preventDefault(); // it would start the task
            }}
          />
          <Options
            list={list}
            label="Branches"
            options={options}
            note={hidden > 0 ? `${hidden} more: type to find them` : undefined}
            onChoose={choose}
          />
        </div>
      )}
    </Field>
  );
}

/** The branches that contain the typed text, those that begin with it first. */
export function matchingBranches({ names, more }: Branches, unset: string, typed: string) {
  const wanted = typed.trim().toLowerCase();
  const found = names.filter((n) => n.toLowerCase().includes(wanted));
  const starts = found.filter((n) => n.toLowerCase().startsWith(wanted));
  const sorted = [...starts, ...found.filter((n) => !starts.includes(n))];
  const options: Option[] = sorted.slice(0, shown).map((name) => ({ value: name, label: name }));
  if (wanted === '') options.unshift({ value: '', label: unset });
  else if (more && !names.includes(typed.trim()))
    options.push({ value: typed.trim(), label: typed.trim(), note: 'not among those that the host lists' });
  return { options, hidden: sorted.length - Math.min(sorted.length, shown) };
}
