/** pauseMs is how long a Kind lasts, 'long' aside. */
export const pauseMs = 1_500;

/** maxId bounds Item.ID; see pauseMs. */
export const maxId = 12_582_912;

/** names of an Item */
export const maxNames = 1_000;

/** Kind is short. */
export type Kind = 'short' | 'long';

/** Mode has a comment at a member. */
export type Mode =
  | 'one' // not 'two'
  | 'two';

/**
 * Item uses id and names. Item stays as it is, and so does what this long sentence says until its line is broken at 120
 * columns.
 */
export interface Item {
  id: string;
  /** at most maxNames */
  names?: string[];
  kind: Kind;
  mode?: Mode;
  next: Item | null;
  maybe?: boolean;
  raw: unknown;
  any: Record<string, unknown>;
  at: string;
  ends: string | null;
  size: number;
  item: Record<string, Item[]>;
}
