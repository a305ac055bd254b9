import { useEffect, useRef, useState } from 'react';
import { describe } from '../app/http.ts';
import { isTyping } from '../app/shortcuts.ts';
import { toast } from '../ui/toast.tsx';

/** Stops the agent while it is busy: by a call of `stop`, or by the Escape key. */
export function useStop(busy: boolean, interrupt: () => Promise<void>): { stop: () => void; stopping: boolean } {
  const [stopping, setStopping] = useState(false);
  const stop = () => {
    if (!busy || stopping) return;
    setStopping(true);
    interrupt()
      .catch((error: unknown) => toast(`Not stopped: ${describe(error).message}`))
      .finally(() => setStopping(false));
  };
  useEscape(busy, stop);
  return { stop, stopping };
}

/** Calls back at Escape, unless Escape closes a dialog or menu instead. */
function useEscape(active: boolean, onEscape: () => void) {
  const latest = useRef(onEscape);
  latest.current = onEscape;
  useEffect(() => {
    if (!active) return;
    const onKey = (event: KeyboardEvent) => {
      if (
        event.key !== 'Escape' ||
        event.defaultPrevented ||
        event.isComposing ||
        document.querySelector('dialog[open], :popover-open')
      )
        return;
      const field = event.target instanceof HTMLElement ? event.target : null;
      // In other fields Escape belongs to the field.
      if (isTyping(field) && !field?.hasAttribute('data-composer')) return;
      latest.current();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [active]);
}
