import { useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { useArmed } from './armed.ts';
import type { DockProps } from './permission.tsx';
import styles from './dock.module.css';

/** A question that is not a permission: the user picks an option or writes an answer, here or in the composer. */
export function Ask({ interaction, count, pending, onAnswer, form }: DockProps & { form: boolean }) {
  const [text, setText] = useState(interaction.default ?? '');
  const ready = useArmed(interaction.id) && !pending;
  return (
    <div className={styles.question}>
      <header>
        <strong>The agent asks</strong>
        {count > 1 && <span className={styles.count}>1 of {count}</span>}
      </header>
      <p className={styles.prompt} dir="auto">
        {interaction.prompt}
      </p>
      {interaction.options && interaction.options.length > 0 && (
        <div className={styles.options}>
          {interaction.options.map((o) => (
            <Button key={o} disabled={!ready} onClick={() => onAnswer({ text: o })} dir="auto">
              {o}
            </Button>
          ))}
        </div>
      )}
      {form && (
        <form
          className={styles.reason}
          onSubmit={(e) => {
            e.preventDefault();
            if (ready) onAnswer({ text });
          }}
        >
          <input
            aria-label="Your answer"
            placeholder="Your answer"
            dir="auto"
            value={text}
            onChange={(e) => setText(e.target.value)}
          />
          <Button kind="primary" type="submit" disabled={!ready}>
            Answer
          </Button>
        </form>
      )}
    </div>
  );
}
