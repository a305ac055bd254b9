import { useState } from 'react';
import { escapeBidi } from '../../ui/bidi.ts';
import { Button } from '../../ui/button.tsx';
import styles from './tool.module.css';

/** How much of a long text is shown before the user asks for more. */
export const previewSize = { characters: 8_000, lines: 120, line: 2_000 };
const step = 10;

/**
 * Cuts a text to its first lines, and overlong lines to their beginning; a browser cannot lay out a line of a mebibyte.
 */
export function cutText(text: string, times = 1): { text: string; cut: boolean } {
  const limit = previewSize.characters * times;
  let shown = text.length > limit ? text.slice(0, limit) : text;
  let cut = shown.length < text.length;
  const lines = shown.split('\n');
  const most = previewSize.lines * times;
  if (lines.length > most) {
    shown = lines.slice(0, most).join('\n');
    cut = true;
  }
  const widest = previewSize.line * times;
  if (lines.some((l) => l.length > widest)) {
    shown = shown
      .split('\n')
      .map((l) => (l.length > widest ? `${l.slice(0, widest)}…` : l))
      .join('\n');
    cut = true;
  }
  return { text: shown, cut };
}

const kib = (n: number) => (n < 1024 ? `${n} characters` : `${Math.round(n / 1024)} KiB`);

export function LongText({
  text,
  draw = (shown) => shown,
}: {
  text: string;
  draw?: (shown: string) => React.ReactNode;
}) {
  const [times, setTimes] = useState(1);
  const { text: shown, cut } = cutText(text, times);
  return (
    <>
      <bdi className={styles.pre}>{draw(escapeBidi(shown))}</bdi>
      {cut && (
        <span className={styles.cut}>
          <Button small kind="quiet" onClick={() => setTimes(times * step)}>
            Show more ({kib(text.length)} in all)
          </Button>
        </span>
      )}
    </>
  );
}
