import { lowlight } from '../task/markdown/lowlight.ts';
import '../task/markdown/highlight.css';
import type { DiffLine, PatchFile } from './parse.ts';

/** A piece of a line in one colour. */
export interface Piece {
  text: string;
  /** Class names of the highlighter. */
  names: string;
}

export type Colours = ReadonlyMap<DiffLine, readonly Piece[]>;

/** Larger files and longer lines are shown without colours: highlighting them would block the page. */
const longestFile = 50_000;
const longestLine = 1_000;

const languages = new Map([
  ['makefile', 'makefile'],
  ['gemfile', 'ruby'],
  ['rakefile', 'ruby'],
]);

/** The language of a file by its name; "" when the highlighter does not know it. */
export function languageOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  const language = languages.get(name) ?? (name.includes('.') ? name.slice(name.lastIndexOf('.') + 1) : '');
  return language !== '' && language !== 'txt' && lowlight.registered(language) ? language : '';
}

/** Colours the lines of a text; undefined when its language is not known, or when it is too long. */
export function colourText(path: string, text: string): readonly (readonly Piece[])[] | undefined {
  const language = languageOf(path);
  const isLong = text.length > longestFile || text.split('\n').some((l) => l.length > longestLine);
  return language === '' || isLong ? undefined : colourLines(text, language);
}

/** Colours the lines of a file. Both sides of a hunk are read as code on their own. */
export function colourFile(file: PatchFile): Colours {
  const colours = new Map<DiffLine, readonly Piece[]>();
  const language = languageOf(file.path);
  const lines = file.hunks.flatMap((h) => h.lines);
  const size = lines.reduce((n, l) => n + l.text.length, 0);
  if (language === '' || size > longestFile || lines.some((l) => l.text.length > longestLine)) return colours;
  for (const hunk of file.hunks) {
    const side = (leftOut: DiffLine['kind']) => {
      const shown = hunk.lines.filter((l) => l.kind !== leftOut);
      const coloured = colourLines(shown.map((l) => l.text).join('\n'), language);
      for (const [i, line] of shown.entries()) colours.set(line, coloured[i] ?? []);
    };
    side('added');
    side('removed');
  }
  return colours;
}

type Node = ReturnType<typeof lowlight.highlight>['children'][number];

function colourLines(code: string, language: string): Piece[][] {
  const lines: Piece[][] = [[]];
  const walk = (nodes: readonly Node[], names: string) => {
    for (const node of nodes) {
      if (node.type === 'text') {
        node.value.split('\n').forEach((text, i) => {
          if (i > 0) lines.push([]);
          if (text !== '') lines.at(-1)?.push({ text, names });
        });
      } else if (node.type === 'element') {
        const own = node.properties.className;
        walk(node.children as Node[], Array.isArray(own) ? own.join(' ') : names);
      }
    }
  };
  walk(lowlight.highlight(language, code).children, '');
  return lines;
}
