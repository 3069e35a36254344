/** Run as a process of its own: gives up its rights for good, then tries every operation. */
import { LocalStore } from '../../../src/store/local/local-store.js';
import { codeOf, keysOf, readAll } from '../conformance/material.js';

const NOBODY = 65534;
process.setgroups?.([NOBODY]);
process.setgid?.(NOBODY);
process.setuid?.(NOBODY);

const store = new LocalStore({ root: process.argv[2] ?? '' });
const skipped: string[] = [];
const list = await keysOf(store, '', { onSkipped: (name) => skipped.push(name) });
const seen = {
  list,
  skipped,
  get: await codeOf(readAll(store, 'v2/a')),
  getPrivate: await codeOf(readAll(store, 'v2/private/b')),
  put: await codeOf(store.putBytes('v2/c', Buffer.from('x'))),
  putNewDirectory: await codeOf(store.putBytes('v2/manifest/c', Buffer.from('x'))),
  delete: await codeOf(store.delete('v2/a')),
  listPrivate: await codeOf(keysOf(store, 'v2/private')),
};
process.stdout.write(JSON.stringify(seen));
