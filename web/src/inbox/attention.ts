import { useEffect } from 'react';
import { config } from '../app/config.ts';
import { useOpenInteractions } from './api.ts';
import { notifiedByWorker } from './notify.ts';

/** The page's title without the number of open questions. */
let title = 'Bellhop';
let waiting = 0;

function show() {
  document.title = waiting > 0 ? `(${waiting}) Needs you · ${title}` : title;
  const icon = document.getElementById('favicon');
  const wanted = `${config.base}${waiting > 0 ? 'icon-waiting.svg' : 'icon.svg'}`;
  if (icon && icon.getAttribute('href') !== wanted) icon.setAttribute('href', wanted);
}

/** Sets the title of the browser's tab. */
export function useTitle(name: string) {
  useEffect(() => {
    title = name ? `${name} · Bellhop` : 'Bellhop';
    show();
    return () => {
      title = 'Bellhop';
      show();
    };
  }, [name]);
}

/**
 * Shows in the title and icon of the tab that questions are open, and closes the notifications of answered
 * questions.
 */
export function useAttention() {
  const open = useOpenInteractions().data;
  const count = open?.length ?? 0;
  useEffect(() => {
    if (!open || !notifiedByWorker()) return;
    const ids = new Set(open.map((q) => q.id));
    void import('./push.ts').then(({ closeNotifications }) =>
      closeNotifications((notice) => notice.event === 'question' && !ids.has(notice.interactionId)),
    );
  }, [open]);
  useEffect(() => {
    waiting = count;
    show();
  }, [count]);
}
