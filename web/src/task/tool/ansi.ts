/** A run of terminal output in one style. */
export interface Span {
  text: string;
  /** Class names: c0–c15 for colours, b0–b15 for backgrounds, bold, dim, italic, underline, inverse. */
  style: string;
}

/** After this many style changes, the rest of the output has the last style: each change costs an element. */
const maxSpans = 5_000;

const flags: Record<number, string> = { 1: 'bold', 2: 'dim', 3: 'italic', 4: 'underline', 7: 'inverse' };
const off: Record<number, string[]> = { 22: ['bold', 'dim'], 23: ['italic'], 24: ['underline'], 27: ['inverse'] };

// Control sequences (CSI), operating system commands (OSC, ended by BEL or ST), and other escapes. Each pattern is
// bounded.
const escapeSequence =
  /\u001b\[([0-9;:]{0,64})([@-~])|\u001b\[[^@-~]{0,64}[@-~]?|\u001b\][^\u0007\u001b]{0,4096}(?:\u0007|\u001b\\)?|\u001b[PX^_][^\u001b]{0,4096}(?:\u001b\\)?|\u001b./g;

/** Parses the styles of terminal output and drops all other control sequences. */
export function parseAnsi(input: string): Span[] {
  const text = overwrite(input);
  if (!text.includes('\u001b')) return text === '' ? [] : [{ text: clean(text), style: '' }];
  const spans: Span[] = [];
  const on = new Set<string>();
  let colour = '';
  let back = '';
  let at = 0;
  const push = (piece: string) => {
    if (piece === '') return;
    const style = [colour, back, ...on].filter(Boolean).join(' ');
    const last = spans.at(-1);
    if (last && (last.style === style || spans.length >= maxSpans)) last.text += clean(piece);
    else spans.push({ text: clean(piece), style });
  };
  for (const match of text.matchAll(escapeSequence)) {
    push(text.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[2] !== 'm') continue;
    const codes = (match[1] ?? '').split(/[;:]/).map(Number);
    for (let i = 0; i < codes.length; i++) {
      const code = codes[i] ?? 0;
      if (code === 0) {
        on.clear();
        colour = back = '';
      } else if (flags[code]) on.add(flags[code]);
      else if (off[code]) for (const f of off[code]) on.delete(f);
      else if (code >= 30 && code <= 37) colour = `c${code - 30}`;
      else if (code >= 90 && code <= 97) colour = `c${code - 82}`;
      else if (code === 39) colour = '';
      else if (code >= 40 && code <= 47) back = `b${code - 40}`;
      else if (code >= 100 && code <= 107) back = `b${code - 92}`;
      else if (code === 49) back = '';
      else if (code === 38 || code === 48) {
        const named = codes[i + 1] === 5 ? (codes[i + 2] ?? 0) : -1;
        i += codes[i + 1] === 5 ? 2 : 4;
        if (named >= 0 && named < 16) {
          if (code === 38) colour = `c${named}`;
          else back = `b${named}`;
        }
      }
    }
  }
  push(text.slice(at));
  return spans;
}

/** Applies carriage returns, which overwrite a line: only the last state of a progress bar is left. */
function overwrite(text: string): string {
  if (!text.includes('\r')) return text;
  return text
    .replace(/\r+\n/g, '\n')
    .split('\n')
    .map((l) => l.slice(l.lastIndexOf('\r', l.length - 2) + 1).replace(/\r$/, ''))
    .join('\n');
}

/** Removes control characters, and replaces bidirectional ones, which could make output look like something else. */
function clean(text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, '')
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, '�');
}
