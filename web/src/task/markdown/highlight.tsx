import type { ReactNode } from 'react';
import { memo } from 'react';
import './highlight.css';
import { lowlight } from './lowlight.ts';

type Node = ReturnType<typeof lowlight.highlight>['children'][number];

/** Renders the nodes of the highlighter as spans with its class names. */
function renderNodes(nodes: readonly Node[]): ReactNode {
  return nodes.map((node, i) => {
    if (node.type === 'text') return node.value;
    if (node.type !== 'element') return null;
    const names = node.properties.className;
    return (
      <span key={i} className={Array.isArray(names) ? names.join(' ') : undefined}>
        {renderNodes(node.children as Node[])}
      </span>
    );
  });
}

/** Code with syntax colours. React.lazy requires the default export. */
const Highlighted = memo(function Highlighted({ code, language }: { code: string; language: string }) {
  const known = lowlight.registered(language);
  return <code className="hljs">{known ? renderNodes(lowlight.highlight(language, code).children) : code}</code>;
});

export default Highlighted;
