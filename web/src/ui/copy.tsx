import { useEffect, useRef, useState } from 'react';
import { IconButton } from './button.tsx';
import { Icon } from './icon.tsx';

/** Copies a text, and says that it did. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [done, setDone] = useState<'' | 'Copied' | 'Could not copy'>('');
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = () => {
    const say = (what: typeof done) => {
      setDone(what);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => setDone(''), 1500);
    };
    if (!navigator.clipboard) return say('Could not copy');
    navigator.clipboard.writeText(text).then(() => say('Copied'), () => say('Could not copy'));
  };
  return (
    <>
      <IconButton label={done || label} icon={<Icon name={done === 'Copied' ? 'check' : 'copy'} size={14} />} onClick={copy} />
      <span className="visually-hidden" role="status">{done}</span>
    </>
  );
}
