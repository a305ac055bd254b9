import { useMemo, useRef } from 'react';
import type { Diff } from '../app/types.ts';
import { anchor, byFile, type Anchors } from './anchor.ts';
import { parsePatch, type PatchFile } from './parse.ts';
import { hashFile, type LineComment, type Review } from './review.ts';

/** The changed files with what the user keeps about them; each list has an entry for each file. */
export interface ReviewedFiles {
  /** undefined for a file whose lines were left out of the changes. */
  patches: readonly (PatchFile | undefined)[];
  viewed: readonly boolean[];
  anchors: readonly Anchors[];
  /** Comments whose lines are not among the changes any more. */
  gone: readonly LineComment[];
}

export function useReviewedFiles({ files, patch }: Diff, { comments, viewed, seed }: Review): ReviewedFiles {
  const patches = useMemo(() => {
    const parsed = parsePatch(patch);
    const byPath = new Map(parsed.map((p) => [p.path, p]));
    return files.map((f) => byPath.get(f.path));
  }, [files, patch]);

  const isViewed = useMemo(() => {
    const hashes = new Set(viewed);
    return patches.map((p) => p !== undefined && hashes.size > 0 && hashes.has(hashFile(p, seed)));
  }, [patches, viewed, seed]);

  // A file whose comments are the same keeps its anchors, and is not rendered again.
  const last = useRef<readonly { patch: PatchFile | undefined; comments: LineComment[]; anchors: Anchors }[]>([]);
  return useMemo(() => {
    const lists = byFile(comments, files);
    last.current = patches.map((p, i) => {
      const own = lists[i] ?? [];
      const before = last.current[i];
      const isSame = before && before.patch === p && before.comments.length === own.length;
      if (isSame && before.comments.every((c, j) => c === own[j])) return before;
      return { patch: p, comments: own, anchors: anchor(own, p) };
    });
    const anchors = last.current.map((l) => l.anchors);
    const gone = [...anchors.flatMap((a) => a.gone), ...(lists.at(-1) ?? [])];
    return { patches, viewed: isViewed, anchors, gone };
  }, [files, patches, comments, isViewed]);
}
