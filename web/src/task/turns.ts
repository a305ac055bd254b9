import type { Interaction, LastTurn } from '../app/types.ts';

/** How turns ended, by their id. */
export type Endings = ReadonlyMap<string, LastTurn>;

/** The questions of turns, by the id of the turn, oldest first. */
export type Questions = ReadonlyMap<string, readonly Interaction[]>;

/** Adds questions to those of their turns; a question that is known already is replaced. */
export function addQuestions(known: Questions, changed: readonly Interaction[]): Questions {
  if (changed.length === 0) return known;
  const out = new Map(known);
  for (const question of changed) {
    const others = (out.get(question.turnId) ?? []).filter((q) => q.id !== question.id);
    out.set(
      question.turnId,
      [...others, question].sort((a, b) => a.createdAt.localeCompare(b.createdAt)),
    );
  }
  return out;
}

/** Adds the ends of turns. An end never changes, so that one that is known keeps its identity. */
export function addEndings(known: Endings, ended: readonly LastTurn[]): Endings {
  const fresh = ended.filter((turn) => !known.has(turn.id));
  return fresh.length === 0 ? known : new Map([...known, ...fresh.map((turn) => [turn.id, turn] as const)]);
}
