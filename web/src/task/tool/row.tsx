import { memo, useContext, useEffect, useMemo, useRef, useState } from 'react';
import { spellName } from '../../ui/bidi.ts';
import { Copy } from '../../ui/copy.tsx';
import { Icon } from '../../ui/icon.tsx';
import { duration } from '../../ui/time.tsx';
import { cx } from '../../ui/class.ts';
import type { ToolItem, ToolState } from '../thread/items.ts';
import { OutcomeLine } from '../thread/question.tsx';
import { fileOfCall } from './file.ts';
import { FileLinksContext } from './links.ts';
import { outputText } from './output.ts';
import { argumentsOf, commandOf, summarise } from './summary.ts';
import { Terminal } from './terminal.tsx';
import styles from './tool.module.css';

const states: Record<ToolState, string> = {
  preparing: 'preparing',
  running: 'running',
  waiting: 'waiting for you',
  done: 'done',
  error: 'failed',
  denied: 'denied',
  unanswered: 'not run',
  unknown: 'result unknown',
};

/** One tool call on one line. It expands to its input and output; failed calls are expanded from the start. */
export const ToolRow = memo(function ToolRow({ item }: { item: ToolItem }) {
  const [open, setOpen] = useState(item.state === 'error');
  const touched = useRef(false);
  useEffect(() => {
    if (item.state === 'error' && !touched.current) setOpen(true);
  }, [item.state]);
  const { icon, verb, target } = summarise(item.name, item.input);
  const seen = useDuration(item.state);
  const took = ranFor(item) ?? seen;
  return (
    <div className={cx(styles.tool, styles[item.state])}>
      <div className={styles.row}>
        <button
          type="button"
          className={styles.line}
          aria-expanded={open}
          onClick={() => {
            touched.current = true;
            setOpen(!open);
          }}
        >
          <Icon name={icon} className={styles.kind} />
          <span className={styles.verb}>{verb}</span>
          <code className={styles.target} dir="ltr">
            <bdi>{target}</bdi>
          </code>
          <span className={styles.state}>
            {took && <span className={styles.took}>{took}</span>}
            {item.exit !== undefined && item.exit !== 0 && <span className={styles.exit}>exit {item.exit}</span>}
            <Sign state={item.state} />
            <span className={item.state === 'done' || item.state === 'running' ? 'visually-hidden' : undefined}>
              {states[item.state]}
            </span>
          </span>
          <Icon name="down" size={12} className={cx(styles.chevron, open && styles.turned)} />
        </button>
        <FileLink item={item} />
      </div>
      {item.permission && <OutcomeLine question={item.permission} />}
      {open && <Details item={item} />}
    </div>
  );
});

/** Opens the file that a call names beside the conversation. A call that did not run may name one that is not there. */
function FileLink({ item: { name, input, state } }: { item: ToolItem }) {
  const links = useContext(FileLinksContext);
  const file = useMemo(() => links && fileOfCall(name, input, links.dir), [links, name, input]);
  if (!links || !file || state === 'preparing' || stopped(state)) return null;
  const shown = spellName(file.line ? `${file.path}:${file.line}` : file.path);
  return (
    <a
      className={styles.open}
      href={links.href(file)}
      aria-label={`Open ${shown} in the files`}
      title={`Open ${shown}`}
      onClick={(e) => {
        if (e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
        e.preventDefault();
        links.open(file);
      }}
    >
      <Icon name="file" size={14} />
    </a>
  );
}

const stopped = (state: ToolState) => state === 'denied' || state === 'unanswered';

function Sign({ state }: { state: ToolState }) {
  if (state === 'running' || state === 'preparing') return <span className={styles.spinner} aria-hidden="true" />;
  return (
    <Icon
      name={state === 'done' ? 'check' : state === 'waiting' ? 'bell' : stopped(state) ? 'close' : 'warn'}
      size={13}
    />
  );
}

function Details({ item }: { item: ToolItem }) {
  const command = commandOf(item.input);
  const input = argumentsOf(item.input);
  const output = item.error || outputText(item.output);
  return (
    <div className={styles.details}>
      {input && (
        <section role="group" aria-label={`Input of ${item.name}`}>
          <header>
            <span>{command === null ? `${item.name} · input` : `${item.name} · command`}</span>
            <Copy text={input} label="Copy input" />
          </header>
          <pre tabIndex={0} dir="ltr">
            <Terminal text={input} />
          </pre>
        </section>
      )}
      {output && (
        <section role="group" aria-label={`Output of ${item.name}`}>
          <header>
            <span>{item.error ? 'error' : 'output'}</span>
            <Copy text={output} label="Copy output" />
          </header>
          <pre tabIndex={0} dir="ltr">
            <Terminal text={output} />
          </pre>
        </section>
      )}
      {!output && (
        <p className={styles.none}>
          {item.state === 'done'
            ? 'No output.'
            : item.state === 'denied'
              ? 'It was denied, nothing was run.'
              : item.state === 'unanswered'
                ? 'Nothing was run.'
                : 'No output yet.'}
        </p>
      )}
    </div>
  );
}

/** How long a tool ran by the host's clock. A call that was asked about also waited for the answer. */
function ranFor({ from, to, permission }: ToolItem): string | undefined {
  if (!from || !to || permission) return undefined;
  return to - from >= 1000 ? duration(to - from) : '';
}

/** How long a tool has been running, or ran; "" if this page did not see it start. */
function useDuration(state: ToolState): string {
  const running = state === 'running';
  const began = useRef<number | undefined>(undefined);
  const [now, setNow] = useState(0);
  useEffect(() => {
    if (!running) {
      if (began.current !== undefined) setNow(Date.now());
      return;
    }
    began.current ??= Date.now();
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [running]);
  const took = began.current === undefined ? 0 : now - began.current;
  return took >= 1000 ? duration(took) : '';
}
