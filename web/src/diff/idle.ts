import { useEffect, useState } from 'react';
import type { Colours, Piece } from './colours.ts';
import type { PatchFile } from './parse.ts';

const done = new WeakMap<PatchFile, Colours>();
let last: Promise<unknown> = Promise.resolve();

/** The colours of a file that is `wanted`. They come one file after another, while the page has nothing else to do. */
export function useColours(file: PatchFile | undefined, wanted: boolean): Colours | undefined {
  const [found, setFound] = useState<{ file: PatchFile; colours: Colours }>();
  useEffect(() => {
    if (!file || !wanted || done.has(file)) return;
    let isHere = true;
    const next = last.then(async () => {
      if (!isHere) return;
      const { colourFile } = await import('./colours.ts');
      await idle();
      if (!isHere) return;
      const colours = done.get(file) ?? colourFile(file);
      done.set(file, colours);
      if (colours.size > 0) setFound({ file, colours });
    });
    // Without the highlighter, lines stay without colours.
    last = next.catch(() => undefined);
    return () => {
      isHere = false;
    };
  }, [file, wanted]);
  if (!file) return undefined;
  return found?.file === file ? found.colours : done.get(file);
}

/** The colours of the lines of a text, as soon as the page has nothing else to do. */
export function useTextColours(path: string, text: string): readonly (readonly Piece[])[] | undefined {
  const [found, setFound] = useState<{ text: string; colours: readonly (readonly Piece[])[] }>();
  useEffect(() => {
    let isHere = true;
    const colour = async () => {
      const { colourText } = await import('./colours.ts');
      await idle();
      const colours = isHere ? colourText(path, text) : undefined;
      if (colours) setFound({ text, colours });
    };
    // Without the highlighter, lines stay without colours.
    colour().catch(() => undefined);
    return () => {
      isHere = false;
    };
  }, [path, text]);
  return found?.text === text ? found.colours : undefined;
}

const idle = () =>
  new Promise<void>((resolve) => {
    // Safari has no idle callbacks.
    if ('requestIdleCallback' in globalThis) requestIdleCallback(() => resolve(), { timeout: 500 });
    else setTimeout(resolve, 30);
  });
