import type { Token, Tokens } from 'marked';
import { Fragment, type ReactNode } from 'react';
import { unturned } from '../../ui/bidi.ts';
import { safeUrl } from './safe.ts';

/** The running text of a block. Every piece that names another place shows where it goes. */
export function Inline({ tokens }: { tokens: readonly Token[] | undefined }): ReactNode {
  return tokens?.map((t, i) => <Fragment key={i}>{piece(t)}</Fragment>);
}

function piece(token: Token): ReactNode {
  switch (token.type) {
    case 'strong':
      return <strong><Inline tokens={(token as Tokens.Strong).tokens} /></strong>;
    case 'em':
      return <em><Inline tokens={(token as Tokens.Em).tokens} /></em>;
    case 'del':
      return <del><Inline tokens={(token as Tokens.Del).tokens} /></del>;
    case 'codespan':
      return <code dir="ltr">{unturned((token as Tokens.Codespan).text)}</code>;
    case 'br':
      return <br />;
    case 'link':
      return link(token as Tokens.Link);
    case 'image':
      // Loading it would tell a stranger that the answer was read: the page only names it.
      return link({ ...(token as Tokens.Image), type: 'link', tokens: [{ type: 'text', raw: '', text: `🖼 ${(token as Tokens.Image).text || (token as Tokens.Image).href}` }] } as Tokens.Link);
    case 'text':
    case 'escape': {
      const text = token as Tokens.Text;
      return text.tokens ? <Inline tokens={text.tokens} /> : <bdi>{unturned(text.text)}</bdi>;
    }
    default:
      return <bdi>{unturned(token.raw)}</bdi>;
  }
}

function link(token: Tokens.Link): ReactNode {
  const url = safeUrl(token.href);
  const text = <Inline tokens={token.tokens} />;
  if (!url) return <bdi>{unturned(token.raw)}</bdi>;
  return <a href={url} title={url} target="_blank" rel="noopener noreferrer nofollow">{text}</a>;
}
