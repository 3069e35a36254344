import { expect, test } from 'vitest';
import { parseVerifyConfig } from '../../src/config/verify.js';
import { given } from './given.js';

const stateDir = (typed: string | undefined, env: NodeJS.ProcessEnv) =>
  parseVerifyConfig(given(typed === undefined ? {} : { 'state-dir': [typed] }), env).stateDir;

test('results are remembered where the XDG specification puts state, elsewhere, or nowhere', () => {
  expect(stateDir(undefined, { HOME: '/home/x' })).toBe('/home/x/.local/state/etcdbr');
  expect(stateDir(undefined, { HOME: '/home/x', XDG_STATE_HOME: '/var/state' })).toBe('/var/state/etcdbr');
  expect(stateDir(undefined, { HOME: '/home/x', XDG_STATE_HOME: 'relative' })).toBe(
    '/home/x/.local/state/etcdbr',
  );
  expect(stateDir('/elsewhere', { HOME: '/home/x' })).toBe('/elsewhere');
  expect(stateDir('off', { HOME: '/home/x' })).toBeUndefined();
});

test('~ is refused: nobody expands it here', () => {
  expect(() => stateDir('~/state', {})).toThrow(expect.objectContaining({ code: 'USAGE' }));
});

test('defaults', () => {
  expect(parseVerifyConfig(given({}), { HOME: '/h' })).toEqual({
    ...{ file: undefined, skipHashCheck: false, stateDir: '/h/.local/state/etcdbr', again: false },
    ...{ maxAgeMs: 30 * 24 * 3_600_000, remember: false, deep: false, trialRestore: false },
    ...{ etcdBinary: undefined, maxVerifiers: 4 },
  });
});
