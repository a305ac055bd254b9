import { expect, it } from 'vitest';
import { takeLink } from './link.ts';

it('removes the one-time link from the address', () => {
  history.replaceState(null, '', '/tasks/1?diff=true#link=abc-123');
  expect(takeLink(location, history)).toBe('abc-123');
  expect(location.href.endsWith('/tasks/1?diff=true')).toBe(true);
  expect(takeLink(location, history)).toBeNull();
});
