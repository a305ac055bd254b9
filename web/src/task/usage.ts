import type { Usage } from '../app/types.ts';

const members = [
  'inputTokens',
  'cachedInputTokens',
  'outputTokens',
  'reasoningTokens',
  'totalTokens',
  'costUSD',
  'contextTokens',
  'contextWindow',
] as const satisfies readonly (keyof Usage)[];

/** What an agent reported about a turn. Members that are no positive number count as not reported. */
export function readUsage(raw: unknown): Usage {
  const usage: Usage = {};
  if (typeof raw !== 'object' || raw === null) return usage;
  for (const name of members) {
    const value = (raw as Record<string, unknown>)[name];
    if (typeof value === 'number' && Number.isFinite(value) && value > 0) usage[name] = value;
  }
  return usage;
}

/** "950", "3.2k", "1.2M". */
export function tokens(n: number): string {
  if (n < 1000) return String(n);
  if (n < 999_500) return `${(n / 1000).toFixed(n < 9950 ? 1 : 0)}k`;
  return `${(n / 1_000_000).toFixed(1)}M`;
}

/** "$0.03"; a smaller cost is "less than $0.01". */
export function dollars(n: number): string {
  return n < 0.01 ? 'less than $0.01' : `$${n.toFixed(2)}`;
}

/** "12 % of the context", or "24k in the context" without its size; "" when the agent does not report it. */
export function contextOf({ contextTokens, contextWindow }: Usage): string {
  if (!contextTokens) return '';
  if (!contextWindow) return `${tokens(contextTokens)} in the context`;
  return `${Math.min(100, Math.max(1, Math.round((100 * contextTokens) / contextWindow)))} % of the context`;
}

/** "3.2k in, 1.1k out · $0.03"; "" when the agent does not report it. */
export function costOf({ inputTokens = 0, outputTokens = 0, costUSD }: Usage): string {
  const count = inputTokens + outputTokens > 0 ? `${tokens(inputTokens)} in, ${tokens(outputTokens)} out` : '';
  return [count, costUSD && dollars(costUSD)].filter(Boolean).join(' · ');
}
