import { useState, type KeyboardEvent, type PointerEvent } from 'react';
import { readSetting, writeSetting } from '../settings/store.ts';
import styles from './diff.module.css';

/** The part of the page's width that the changes take, in percent. */
const share = { least: 25, most: 75, usual: 52, step: 2 };

const limited = (percent: number) => Math.min(share.most, Math.max(share.least, Math.round(percent)));

/** The width of the changes, which the browser remembers. */
export function useWidth(): [percent: number, set: (percent: number) => void] {
  const [percent, setPercent] = useState(() => {
    const stored = Number(readSetting('diff-width') ?? Number.NaN);
    return Number.isFinite(stored) && stored > 0 ? limited(stored) : share.usual;
  });
  return [
    percent,
    (next) => {
      setPercent(limited(next));
      writeSetting('diff-width', String(limited(next)));
    },
  ];
}

interface EdgeProps {
  percent: number;
  label: string;
  onChange: (percent: number) => void;
}

/** The edge between conversation and changes: it is dragged, moved by the arrow keys, and reset by a double click. */
export function Edge({ percent, label, onChange }: EdgeProps) {
  const drag = (event: PointerEvent<HTMLElement>) => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
    const page = event.currentTarget.closest('main')?.getBoundingClientRect();
    if (page && page.width > 0) onChange(((page.right - event.clientX) / page.width) * 100);
  };
  const onKey = (event: KeyboardEvent) => {
    const next = {
      ArrowLeft: percent + share.step,
      ArrowRight: percent - share.step,
      Home: share.least,
      End: share.most,
      Enter: share.usual,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    onChange(next);
  };
  return (
    <div
      className={styles.edge}
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuemin={share.least}
      aria-valuemax={share.most}
      aria-valuenow={percent}
      aria-valuetext={`${percent} percent`}
      title="Drag to change the width"
      tabIndex={0}
      onPointerDown={(event) => {
        if (event.button === 0) event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={drag}
      onKeyDown={onKey}
      onDoubleClick={() => onChange(share.usual)}
    />
  );
}
