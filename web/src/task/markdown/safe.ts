/** Returns a link target that is safe to follow. Others (javascript:, data:, file: …) are shown as text. */
export function safeUrl(href: string): string | null {
  // Browsers ignore control characters and blanks inside a scheme, so remove them before checking it.
  const bare = href.replace(/[\u0000-\u0020\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, '');
  if (/^(https?:\/\/|mailto:)/i.test(bare)) return bare;
  return null;
}
