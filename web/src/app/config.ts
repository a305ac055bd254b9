interface Config {
  /** Path under which the broker is seen, with a slash at its end. */
  base: string;
  version: string;
  /** False when the page was asked for without a session; absent when the server does not say. */
  signedIn?: boolean;
}

/** What the serving broker wrote into the page; a page of Vite's own server has none. */
function read(): Config {
  const fallback: Config = { base: '/', version: 'dev' };
  try {
    const text = document.getElementById('bellhop-config')?.textContent ?? '{}';
    return { ...fallback, ...(JSON.parse(text) as Partial<Config>) };
  } catch {
    return fallback;
  }
}

export const config = read();

/** The URL of a path such as "api/tasks" on this page's broker. */
export const urlOf = (path: string) => config.base + path.replace(/^\//, '');
