/** Run as a process of its own, so that its memory can be measured: one object in and out. */
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { LocalStore } from '../../../src/store/local/local-store.js';
import { readRange } from '../../../src/store/local/read.js';

const [root = '', path = ''] = process.argv.slice(2);
const store = new LocalStore({ root });
const sha256 = await digestOf(readRange(path, { reuseBuffer: true }));
const beforePut = peakBytes();
const startMs = performance.now();
await store.putFile('v2/large', path, { bytes: (await stat(path)).size, sha256 });
const putMs = performance.now() - startMs;
const beforeGet = peakBytes();
const back = await digestOf(store.get('v2/large', { reuseBuffer: true }));
const getMs = performance.now() - startMs - putMs;
const bytes = back === sha256 ? (await store.head('v2/large')).bytes : -1;
process.stdout.write(JSON.stringify({ bytes, maxRssBytes: peakBytes(), putMs, getMs, beforePut, beforeGet }));

async function digestOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of chunks) digest.update(chunk);
  return digest.digest('hex');
}

function peakBytes(): number {
  return process.resourceUsage().maxRSS * 1024;
}
