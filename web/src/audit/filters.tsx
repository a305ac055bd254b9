import { useState, type FormEvent } from 'react';
import { Button } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { acts, everything, type Filter } from './api.ts';
import styles from './audit.module.css';

/** The search over the log. It changes the filter when it is submitted, so that half a name asks nothing. */
export function Filters({ filter, onChange }: { filter: Filter; onChange: (filter: Filter) => void }) {
  const [draft, setDraft] = useState(filter);
  const set = (name: keyof Filter) => (e: { target: { value: string } }) =>
    setDraft({ ...draft, [name]: e.target.value });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange(Object.values(draft).every((value) => !value.trim()) ? everything : { ...draft });
  };
  const clear = () => {
    setDraft(everything);
    onChange(everything);
  };
  return (
    <form className={styles.filters} role="search" aria-label="Filter the audit log" onSubmit={submit}>
      <Field label="From">
        {(id) => <input id={id} type="date" max={draft.until || undefined} value={draft.from} onChange={set('from')} />}
      </Field>
      <Field label="Until">
        {(id) => (
          <input id={id} type="date" min={draft.from || undefined} value={draft.until} onChange={set('until')} />
        )}
      </Field>
      <Field label="Act">
        {(id) => (
          <select id={id} value={draft.action} onChange={set('action')}>
            <option value="">Every act</option>
            {Object.entries(acts).map(([action, name]) => (
              <option key={action} value={action}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Who">
        {(id) => <input id={id} placeholder="name@example.com" value={draft.actor} onChange={set('actor')} />}
      </Field>
      <Field label="On what">
        {(id) => <input id={id} placeholder="name or id" value={draft.subject} onChange={set('subject')} />}
      </Field>
      <div className={styles.buttons}>
        <Button kind="primary" type="submit">
          Search
        </Button>
        {filter !== everything && <Button onClick={clear}>Clear</Button>}
      </div>
    </form>
  );
}
