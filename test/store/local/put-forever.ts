/** Run as a process of its own, to be killed: puts files and small content, four at a time, until it dies. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { LocalStore } from '../../../src/store/local/local-store.js';
import { Random } from '../../servers/random.js';
import { pattern, sha256 } from '../conformance/material.js';

const WRITERS = 4;
const [root = '', links = '', seed = '1'] = process.argv.slice(2);
const random = new Random(Number(seed));
const spool = mkdtempSync(`${dirname(root)}/spool-`);
const makeLink = async () => {
  throw Object.assign(new Error('operation not supported'), { code: 'EOPNOTSUPP' });
};
const store = new LocalStore(links === 'links' ? { root } : { root, makeLink });

await Promise.all(Array.from({ length: WRITERS }, (_, writer) => putForever(writer)));

async function putForever(writer: number): Promise<never> {
  for (let round = 0; ; round++) {
    const content = pattern(random.int(2_000_000), random.int(1_000_000));
    const digest = sha256(content);
    const key = `v2/dir-${random.int(5)}/object-${digest}`;
    if (round === 0 && writer === 0) process.stdout.write('started');
    if (content.length < 200_000) {
      await store.putBytes(key, content);
      continue;
    }
    const path = `${spool}/${writer}-${round}`;
    writeFileSync(path, content);
    await store.putFile(key, path, { bytes: content.length, sha256: digest, mayTake: random.int(2) === 0 });
  }
}
