import { lazy, memo, Suspense } from 'react';
import { Copy } from '../../ui/copy.tsx';
import { escapeBidi } from '../../ui/bidi.ts';
import { cutText, LongText } from '../tool/longtext.tsx';
import { Terminal } from '../tool/terminal.tsx';
import styles from './markdown.module.css';

const Highlighted = lazy(() => import('./highlight.tsx'));

/** Longer code is shown without colours: highlighting it would block the page. */
const longestHighlighted = 50_000;

/** A block of code. While it is `growing`, its text is still being streamed. */
export const CodeBlock = memo(function CodeBlock({
  code: given,
  language,
  growing,
}: {
  code: string;
  language: string;
  growing: boolean;
}) {
  const code = escapeBidi(given);
  const plain = growing || language === '' || code.length > longestHighlighted;
  return (
    <figure className={styles.code}>
      <figcaption>
        <span>{language || 'text'}</span>
        <Copy text={code} label="Copy code" />
      </figcaption>
      <pre tabIndex={0} dir="ltr" aria-label={`Code${language ? ` in ${language}` : ''}`}>
        {code.includes('\u001b') ? (
          <Terminal text={code} />
        ) : plain ? (
          cutText(code).cut ? (
            <LongText text={code} />
          ) : (
            <code>{code}</code>
          )
        ) : (
          <Suspense fallback={<code>{code}</code>}>
            <Highlighted code={code} language={language} />
          </Suspense>
        )}
      </pre>
    </figure>
  );
});
