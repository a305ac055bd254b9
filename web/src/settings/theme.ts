import { readSetting, writeSetting } from './store.ts';

export type Theme = 'system' | 'light' | 'dark';

export const themes: readonly Theme[] = ['system', 'light', 'dark'];

export function currentTheme(): Theme {
  const stored = readSetting('theme');
  return themes.find((t) => t === stored) ?? 'system';
}

/** Sets color-scheme on the page; light-dark() in the style sheets follows it. */
export function applyTheme(theme: Theme = currentTheme()) {
  document.documentElement.style.colorScheme = theme === 'system' ? 'light dark' : theme;
}

export function setTheme(theme: Theme) {
  writeSetting('theme', theme);
  applyTheme(theme);
}
