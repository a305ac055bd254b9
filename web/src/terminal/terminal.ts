import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { useEffect, useRef, useState, type RefObject } from 'react';
import { connect, longestInput, type Connection, type End } from './connection.ts';
import { openWithStyles } from './styles.ts';

const tooLong = `More than ${longestInput >> 10} KiB is not pasted at once. Put it into a file`;

/** Shows a terminal in a task's workspace in an element. */
export function useTerminal(
  taskId: string,
  box: RefObject<HTMLDivElement | null>,
  readable: boolean,
  onLeave: () => void,
) {
  const [end, setEnd] = useState<End>();
  const [note, setNote] = useState('');
  const [attempt, setAttempt] = useState(0);
  const connection = useRef<Connection>(undefined);
  const screen = useRef<Terminal>(undefined);
  const leave = useRef(onLeave);
  leave.current = onLeave;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt opens another terminal
  useEffect(() => {
    const place = box.current;
    if (!place) return;
    place.replaceChildren(); // after the first attempt: what the ended terminal has shown
    const { terminal, size, close } = open(place);
    const shown = remembered(taskId);
    const live = connect(taskId, shown.get(), size(), {
      onOpen: (id) => {
        shown.set(id);
        terminal.reset();
      },
      onOutput: (bytes, done) => terminal.write(bytes, done),
      onEnd: (how) => {
        if (!how.lost) shown.set('');
        if (how.gone) setAttempt((n) => n + 1);
        else setEnd(how);
      },
    });
    connection.current = live;
    screen.current = terminal;
    terminal.onData((text) => setNote(live.type(text) ? '' : tooLong));
    terminal.onBinary((text) => live.typeBytes(Uint8Array.from(text, (c) => c.charCodeAt(0))));
    terminal.onResize(() => live.resize(size()));
    terminal.attachCustomKeyEventHandler((event) => {
      if (event.key !== 'F6' || !event.shiftKey) return true;
      if (event.type === 'keydown') leave.current();
      return false;
    });
    terminal.focus();
    return () => {
      live.leave();
      close();
    };
  }, [taskId, box, attempt]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt has another terminal
  useEffect(() => {
    if (screen.current) screen.current.options.screenReaderMode = readable;
  }, [readable, attempt]);
  return {
    end,
    note,
    again: () => {
      setEnd(undefined);
      setAttempt((n) => n + 1);
    },
    press: (text: string) => {
      connection.current?.type(text);
      screen.current?.focus();
    },
    stop: () => connection.current?.end(),
  };
}

/** Opens an empty terminal as large as its place, whose colours follow the page's. */
function open(place: HTMLElement) {
  const terminal = new Terminal({
    fontFamily: getComputedStyle(place).fontFamily,
    fontSize: 13,
    scrollback: 5000,
    minimumContrastRatio: 4.5,
    theme: themeOf(place),
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  const removeStyles = openWithStyles(() => terminal.open(place));
  terminal.textarea?.setAttribute('aria-describedby', 'terminal-help');
  fit.fit();
  const observer = new ResizeObserver(() => fit.fit());
  observer.observe(place);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const repaint = () => {
    terminal.options.theme = themeOf(place);
  };
  dark.addEventListener('change', repaint);
  return {
    terminal,
    size: () => ({ columns: terminal.cols, rows: terminal.rows }),
    close: () => {
      dark.removeEventListener('change', repaint);
      observer.disconnect();
      terminal.dispose();
      removeStyles();
    },
  };
}

/** The colours of the page, light or dark. */
function themeOf(place: HTMLElement) {
  const { color, backgroundColor } = getComputedStyle(place);
  return { foreground: color, background: backgroundColor, cursor: color, cursorAccent: backgroundColor };
}

/** The id of the terminal that this tab shows for a task, so that opening the pane again continues it. */
function remembered(taskId: string) {
  const key = `bellhop.terminal.${taskId}`;
  return {
    get: () => {
      try {
        return sessionStorage.getItem(key) ?? '';
      } catch {
        return '';
      }
    },
    set: (id: string) => {
      try {
        if (id) sessionStorage.setItem(key, id);
        else sessionStorage.removeItem(key);
      } catch {
        // Storage may be full or forbidden; opening the pane again then opens another terminal.
      }
    },
  };
}
