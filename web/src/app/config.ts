interface Config {
  /** The path under which browsers see the broker, with a slash at its end. */
  base: string;
  version: string;
  /** True when the broker names itself in its answers. */
  named?: boolean;
  /** False when the page was requested without a session; absent when the server does not report it. */
  signedIn?: boolean;
}

/** The configuration that the broker wrote into the page. Vite's development server writes none. */
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
