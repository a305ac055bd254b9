import { readSetting, writeSetting } from './store.ts';

export type Theme = 'system' | 'light' | 'dark';

export const themes: readonly Theme[] = ['system', 'light', 'dark'];

export function currentTheme(): Theme {
  const stored = readSetting('theme');
  return themes.find((t) => t === stored) ?? 'system';
}

/** light-dark() in the style sheets follows color-scheme, so this is all there is to a theme. */
export function applyTheme(theme: Theme = currentTheme()) {
  document.documentElement.style.colorScheme = theme === 'system' ? 'light dark' : theme;
}

export function setTheme(theme: Theme) {
  writeSetting('theme', theme);
  applyTheme(theme);
}
