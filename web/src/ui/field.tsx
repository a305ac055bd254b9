import { useId, type InputHTMLAttributes, type ReactNode } from 'react';
import styles from './field.module.css';

/** A label over a control, with an explanation under it. The control takes the given id. */
export function Field({
  label,
  hint,
  children,
}: {
  label: string;
  hint?: ReactNode;
  children: (id: string) => ReactNode;
}) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      {children(id)}
      {hint && <p className={styles.hint}>{hint}</p>}
    </div>
  );
}

type InputProps = Omit<InputHTMLAttributes<HTMLInputElement>, 'id' | 'value' | 'onChange'>;

/** A field with one required line of text. onChange gets the new text. */
export function TextField({
  label,
  hint,
  onChange,
  ...input
}: InputProps & { label: string; hint?: ReactNode; value: string; onChange: (value: string) => void }) {
  return (
    <Field label={label} hint={hint}>
      {(id) => <input id={id} required {...input} onChange={(e) => onChange(e.target.value)} />}
    </Field>
  );
}
