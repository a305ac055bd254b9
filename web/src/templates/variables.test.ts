import { expect, it } from 'vitest';
import { usedVariables } from './variables.ts';

it('finds the variables of a prompt once, in their order, and keeps what is known of them', () => {
  const known = [{ name: 'b', default: 'x' }, { name: 'gone' }];
  expect(usedVariables('{{ a }} {{b}} {{a}} {{.no}} {{1}} {no} {{b c}}', known)).toEqual([
    { name: 'a' },
    { name: 'b', default: 'x' },
  ]);
});
