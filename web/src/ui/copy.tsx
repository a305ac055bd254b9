import { useEffect, useRef, useState } from 'react';
import { IconButton } from './button.tsx';
import { Icon } from './icon.tsx';

/** A button that copies a text and confirms it. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [done, setDone] = useState<'' | 'Copied' | 'Could not copy'>('');
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = () => {
    const report = (what: typeof done) => {
      setDone(what);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => setDone(''), 1500);
    };
    if (!navigator.clipboard) return report('Could not copy');
    navigator.clipboard.writeText(text).then(
      () => report('Copied'),
      () => report('Could not copy'),
    );
  };
  return (
    <>
      <IconButton
        label={done || label}
        icon={<Icon name={done === 'Copied' ? 'check' : 'copy'} size={14} />}
        onClick={copy}
      />
      <span className="visually-hidden" role="status">
        {done}
      </span>
    </>
  );
}
