/**
 * Opens a terminal of xterm.js under a policy that refuses style elements. xterm.js makes such elements while it opens,
 * and writes text into them later. Here that text becomes stylesheets that only scripts can make, which the policy
 * allows. Returns a function that removes them.
 */
export function openWithStyles(open: () => void): () => void {
  const sheets: CSSStyleSheet[] = [];
  const createElement = document.createElement.bind(document);
  // The option `documentOverride` of xterm.js does not reach all of its elements.
  document.createElement = (tag: string, options?: ElementCreationOptions) =>
    tag.toLowerCase() === 'style' ? standIn(sheets, createElement('template')) : createElement(tag, options);
  try {
    open();
  } finally {
    Reflect.deleteProperty(document, 'createElement'); // the one of its prototype is seen again
  }
  return () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet));
  };
}

/** An element without effect, whose text becomes a stylesheet of the page. */
function standIn(sheets: CSSStyleSheet[], element: HTMLElement): HTMLElement {
  const sheet = new CSSStyleSheet();
  sheets.push(sheet);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  let text = '';
  return Object.defineProperty(element, 'textContent', {
    get: () => text,
    set: (next: string) => {
      text = next;
      sheet.replaceSync(next);
    },
  });
}
