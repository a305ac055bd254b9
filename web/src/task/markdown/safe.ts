/**
 * Returns a link target that is safe to follow. Others (javascript:, data:, file: …) are shown as text, and so is
 * another port of the console's host name: the browser would send the console's cookie there.
 */
export function safeUrl(href: string): string | null {
  // Browsers ignore control characters and blanks inside a scheme, so remove them before checking it.
  const bare = href.replace(/[\u0000-\u0020\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, '');
  if (/^mailto:/i.test(bare)) return bare;
  return /^https?:\/\//i.test(bare) && !sharesCookies(bare) ? bare : null;
}

/** Whether a URL is at the console's host name, but at another origin. A URL that cannot be parsed leads nowhere. */
function sharesCookies(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { hostname, origin } = new URL(url);
  const name = (host: string) => host.replace(/\.$/, '');
  return name(hostname) === name(location.hostname) && origin !== location.origin;
}
