import { memo, useEffect, useMemo, useRef } from 'react';
import type { FileContent, Task } from '../app/types.ts';
import { LineCode } from '../diff/lines.tsx';
import { useTextColours } from '../diff/idle.ts';
import type { Piece } from '../diff/colours.ts';
import { useSetting } from '../settings/choice.ts';
import { sizeText } from '../task/composer/attachments.ts';
import { spellName } from '../ui/bidi.ts';
import { Button } from '../ui/button.tsx';
import { cx } from '../ui/class.ts';
import { Copy } from '../ui/copy.tsx';
import { Failure } from '../ui/failure.tsx';
import { useNear } from '../ui/near.ts';
import { Empty, Loading } from '../ui/page.tsx';
import { useFile } from './api.ts';
import styles from './files.module.css';

/** Images that are shown. SVG is not among them: it is shown as text. */
const imageTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

interface Props {
  task: Task;
  path: string;
  /** The line to show and to mark, from 1. */
  line: number | undefined;
}

/** A file of the workspace. */
export function Viewer({ task, path, line }: Props) {
  const query = useFile(task, path);
  const [wrap, setWrap] = useSetting('files-wrap', ['off', 'on']);
  const pages = query.data?.pages ?? [];
  const first = pages[0];
  return (
    <section className={styles.viewer} aria-label={`File ${spellName(path)}`}>
      <header className={styles.fileHead}>
        <bdi className={styles.path}>{spellName(path)}</bdi>
        <Copy text={path} label="Copy the path" />
        {first && <span className={styles.size}>{sizeText(first.size)}</span>}
        {first?.kind === 'text' && (
          <Button small kind="quiet" aria-pressed={wrap === 'on'} onClick={() => setWrap(wrap === 'on' ? 'off' : 'on')}>
            Wrap
          </Button>
        )}
      </header>
      {query.isPending && <Loading what="the file" />}
      {query.error && (
        <Failure what="The file could not be read" error={query.error} retry={() => void query.refetch()} />
      )}
      {first?.kind === 'text' && (
        <Text
          path={path}
          text={pages.map((p) => p.text ?? '').join('')}
          wrap={wrap === 'on'}
          line={line}
          more={query.hasNextPage ? () => void query.fetchNextPage({ cancelRefetch: false }) : undefined}
          loading={query.isFetchingNextPage}
        />
      )}
      {first && first.kind !== 'text' && <NoText file={first} />}
    </section>
  );
}

function NoText({ file }: { file: FileContent }) {
  if (file.kind === 'image' && file.data && imageTypes.has(file.mediaType))
    return (
      <div className={styles.image}>
        <img alt={spellName(file.path)} src={`data:${file.mediaType};base64,${file.data}`} />
      </div>
    );
  return (
    <Empty icon="file" title="A binary file">
      <p>{file.note ? `${spellName(file.note)}.` : `It has ${sizeText(file.size)}, and is no text.`}</p>
    </Empty>
  );
}

/** Lines in one block. Blocks are rendered once they come near the part in view; others take up their place. */
const blockLines = 200;
/** Height of a line, as in files.module.css. */
const lineEm = 1.5;

interface TextProps {
  path: string;
  text: string;
  wrap: boolean;
  line: number | undefined;
  /** Reads the next piece; undefined at the end of the file. */
  more: (() => void) | undefined;
  loading: boolean;
}

function Text({ path, text, wrap, line, more, loading }: TextProps) {
  const lines = useMemo(() => linesOf(text), [text]);
  const colours = useTextColours(path, text);
  const box = useRef<HTMLDivElement>(null);
  const missing = line !== undefined && line > lines.length;
  useEffect(() => {
    if (missing && more && !loading) more();
  }, [missing, more, loading]);
  useEffect(() => {
    if (line !== undefined && !missing && box.current) return keepInView(box.current, `[data-line="${line}"]`);
  }, [line, missing]);
  if (text === '') return <Empty icon="file" title="An empty file" />;
  const blocks = Array.from({ length: Math.ceil(lines.length / blockLines) }, (_, i) => i * blockLines);
  return (
    <div
      ref={box}
      className={cx(styles.text, wrap && styles.wrapped)}
      role="region"
      aria-label={`Content of ${spellName(path)}`}
      tabIndex={0}
    >
      {blocks.map((from) => (
        <Block
          key={from}
          from={from}
          lines={lines}
          colours={colours}
          marked={line !== undefined && line > from && line <= from + blockLines ? line : undefined}
        />
      ))}
      {more && (
        <Button small kind="quiet" className={styles.more} disabled={loading} onClick={more}>
          {loading ? 'Loading …' : 'Show more of the file'}
        </Button>
      )}
    </div>
  );
}

/**
 * Shows the element in the middle of the box, and again whenever the blocks around it take another height than the one
 * they had kept free, until the user scrolls. Returns what ends it.
 */
function keepInView(box: HTMLElement, selector: string): () => void {
  const show = () => box.querySelector(selector)?.scrollIntoView({ block: 'center' });
  show();
  const heights = new ResizeObserver(show);
  for (const block of box.children) heights.observe(block);
  const listening = new AbortController();
  const end = () => {
    heights.disconnect();
    listening.abort();
  };
  for (const act of ['wheel', 'touchmove', 'pointerdown', 'keydown'])
    box.addEventListener(act, end, { passive: true, signal: listening.signal });
  return end;
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

interface BlockProps {
  from: number;
  lines: readonly string[];
  colours: readonly (readonly Piece[])[] | undefined;
  marked: number | undefined;
}

const Block = memo(function Block({ from, lines, colours, marked }: BlockProps) {
  const shown = lines.slice(from, from + blockLines);
  const [ref, near] = useNear<HTMLDivElement>();
  const isShown = near || marked !== undefined;
  return (
    <div ref={ref} className={styles.block} style={isShown ? undefined : { height: `${shown.length * lineEm}em` }}>
      {(isShown ? shown : []).map((text, i) => {
        const number = from + i + 1;
        return (
          <div key={number} className={cx(styles.line, number === marked && styles.marked)} data-line={number}>
            <span className={styles.number}>{number}</span>
            <code>
              <LineCode text={text} pieces={colours?.[from + i]} />
            </code>
          </div>
        );
      })}
    </div>
  );
}, same);

/** A block is rendered again only when one of its own lines has changed. */
function same(before: BlockProps, after: BlockProps): boolean {
  if (before.from !== after.from || before.marked !== after.marked || before.colours !== after.colours) return false;
  for (let i = after.from; i < after.from + blockLines; i++) if (before.lines[i] !== after.lines[i]) return false;
  return true;
}
