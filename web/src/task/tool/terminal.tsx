import { memo, useMemo } from 'react';
import { LongText } from './longtext.tsx';
import { parseAnsi } from './ansi.ts';
import styles from './ansi.module.css';

function Coloured({ text }: { text: string }) {
  const spans = useMemo(() => parseAnsi(text), [text]);
  return spans.map((s, i) =>
    s.style ? (
      <span
        key={i}
        className={s.style
          .split(' ')
          .map((n) => styles[n])
          .join(' ')}
      >
        {s.text}
      </span>
    ) : (
      s.text
    ),
  );
}

/** Terminal output with its colours. */
export const Terminal = memo(function Terminal({ text }: { text: string }) {
  return <LongText text={text} draw={(shown) => <Coloured text={shown} />} />;
});
