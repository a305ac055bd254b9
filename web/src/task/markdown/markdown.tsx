import type { Token, Tokens } from 'marked';
import { memo, useRef } from 'react';
import { parseBlocks } from './blocks.ts';
import { CodeBlock } from './code.tsx';
import { Inline } from './inline.tsx';
import { LongText } from '../tool/longtext.tsx';
import styles from './markdown.module.css';

/**
 * Renders an agent's markdown as React elements and never parses it as HTML. Finished blocks are not rendered again
 * while the text grows.
 */
export const Markdown = memo(function Markdown({ text, growing = false }: { text: string; growing?: boolean }) {
  const before = useRef<ReturnType<typeof parseBlocks>>(undefined);
  const parsed = before.current?.text === text ? before.current : parseBlocks(text, before.current);
  before.current = parsed;
  return (
    <div className={styles.markdown} data-growing={growing || undefined}>
      {parsed.blocks.map((b, i) => (
        <MarkdownBlock
          key={b.key}
          raw={b.token.raw}
          token={b.token}
          growing={growing && i === parsed.blocks.length - 1}
        />
      ))}
    </div>
  );
});

const MarkdownBlock = memo(
  function MarkdownBlock({ token, growing }: { raw: string; token: Token; growing: boolean }) {
    return <BlockOf token={token} growing={growing} />;
  },
  (a, b) => a.raw === b.raw && a.growing === b.growing && a.token.type === b.token.type,
);

function BlockOf({ token, growing = false }: { token: Token; growing?: boolean }) {
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'code':
      return (
        <CodeBlock
          code={token.text as string}
          language={((token as Tokens.Code).lang ?? '').split(/\s/)[0] ?? ''}
          growing={growing}
        />
      );
    case 'heading': {
      const level = Math.min(6, (token as Tokens.Heading).depth + 2);
      const Tag = `h${level}` as 'h3' | 'h4' | 'h5' | 'h6';
      return (
        <Tag dir="auto" data-depth={(token as Tokens.Heading).depth}>
          <Inline tokens={(token as Tokens.Heading).tokens} />
        </Tag>
      );
    }
    case 'hr':
      return <hr />;
    case 'blockquote':
      return (
        <blockquote dir="auto">
          {(token as Tokens.Blockquote).tokens.map((t, i) => (
            <BlockOf key={i} token={t} />
          ))}
        </blockquote>
      );
    case 'list':
      return <List list={token as Tokens.List} />;
    case 'table':
      return <Table table={token as Tokens.Table} />;
    case 'paragraph':
      return (
        <p dir="auto">
          <Inline tokens={(token as Tokens.Paragraph).tokens} />
        </p>
      );
    case 'text': {
      const { tokens, text } = token as Tokens.Text;
      if (tokens) return <Inline tokens={tokens} />;
      return <LongText text={text} />;
    }
    default:
      // HTML and token types of later versions of marked are shown as text.
      return <LongText text={token.raw} />;
  }
}

function List({ list }: { list: Tokens.List }) {
  const items = list.items.map((item, i) => <Item key={i} raw={item.raw} item={item} />);
  return list.ordered ? <ol start={typeof list.start === 'number' ? list.start : 1}>{items}</ol> : <ul>{items}</ul>;
}

/** Memoized: while a long list grows at its end, its other items are not rendered again. */
const Item = memo(
  function Item({ item }: { raw: string; item: Tokens.ListItem }) {
    return (
      <li dir="auto">
        {item.task && (
          <input
            type="checkbox"
            checked={item.checked ?? false}
            readOnly
            disabled
            aria-label={item.checked ? 'done' : 'to do'}
          />
        )}
        {item.tokens.map((t, i) => (t.type === 'checkbox' ? null : <BlockOf key={i} token={t} />))}
      </li>
    );
  },
  (a, b) => a.raw === b.raw && a.item.loose === b.item.loose,
);

function Table({ table }: { table: Tokens.Table }) {
  return (
    <div className={styles.scroll} tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {table.header.map((c, i) => (
              <th key={i} dir="auto">
                <Inline tokens={c.tokens} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, i) => (
            <tr key={i}>
              {row.map((c, j) => (
                <td key={j} dir="auto">
                  <Inline tokens={c.tokens} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
