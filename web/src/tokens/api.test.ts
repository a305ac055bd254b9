import { describe, expect, it } from 'vitest';
import { allScopes, lifetimes, scopeText } from './api.ts';

const day = 86_400;

describe('lifetimes', () => {
  it('include for ever only if the broker sets no limit', () => {
    expect(lifetimes(0).map((d) => d.value)).toEqual(['30', '90', '365', '']);
    expect(lifetimes(365 * day).map((d) => d.value)).toEqual(['30', '90', '365']);
  });

  it('are none that the broker would refuse', () => {
    expect(lifetimes(90 * day).map((d) => d.value)).toEqual(['30', '90']);
    expect(lifetimes(7 * day)).toEqual([{ value: '7', label: 'As late as possible' }]);
    expect(lifetimes(day / 2).map((d) => d.value)).toEqual(['0.5']);
  });
});

describe('scopeText', () => {
  it('names the scopes of a token, unless it has all', () => {
    expect(scopeText({ kind: 'user', scopes: allScopes })).toBe('everything you can');
    expect(scopeText({ kind: 'user', scopes: ['tasks:read', 'hosts'] })).toBe('tasks:read, hosts');
    expect(scopeText({ kind: 'user', scopes: [] })).toBe('nothing');
  });
});
