import type { Token, Tokens } from 'marked';
import { Fragment, type ReactNode } from 'react';
import { escapeBidi } from '../../ui/bidi.ts';
import { safeUrl } from './safe.ts';

/** The inline text of a block. Links and images show their target. */
export function Inline({ tokens }: { tokens: readonly Token[] | undefined }): ReactNode {
  return tokens?.map((t, i) => <Fragment key={i}>{piece(t)}</Fragment>);
}

function piece(token: Token): ReactNode {
  switch (token.type) {
    case 'strong':
      return (
        <strong>
          <Inline tokens={(token as Tokens.Strong).tokens} />
        </strong>
      );
    case 'em':
      return (
        <em>
          <Inline tokens={(token as Tokens.Em).tokens} />
        </em>
      );
    case 'del':
      return (
        <del>
          <Inline tokens={(token as Tokens.Del).tokens} />
        </del>
      );
    case 'codespan':
      return <code dir="ltr">{escapeBidi((token as Tokens.Codespan).text)}</code>;
    case 'br':
      return <br />;
    case 'link':
      return link(token as Tokens.Link);
    case 'image': {
      const image = token as Tokens.Image;
      // Loading the image would reveal to its server that the answer was read, so the page only shows its name.
      return link({
        ...image,
        type: 'link',
        tokens: [{ type: 'text', raw: '', text: `🖼 ${image.text || image.href}` }],
      } as Tokens.Link);
    }
    case 'text':
    case 'escape': {
      const text = token as Tokens.Text;
      return text.tokens ? <Inline tokens={text.tokens} /> : <bdi>{escapeBidi(text.text)}</bdi>;
    }
    default:
      return <bdi>{escapeBidi(token.raw)}</bdi>;
  }
}

function link(token: Tokens.Link): ReactNode {
  const url = safeUrl(token.href);
  const text = <Inline tokens={token.tokens} />;
  if (!url) return <bdi>{escapeBidi(token.raw)}</bdi>;
  return (
    <a href={url} title={url} target="_blank" rel="noopener noreferrer nofollow">
      {text}
    </a>
  );
}
