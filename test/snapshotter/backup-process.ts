/** Run as a process of its own, to be killed or asked to stop: backs up until then, and prints what it is told. */
import { parseBackupConfig } from '../../src/config/backup.js';
import { EtcdClient } from '../../src/etcd/client.js';
import { runSnapshotter } from '../../src/snapshotter/snapshotter.js';
import { openLocal } from '../../src/store/local/open.js';

const [endpoint = '', container = '', tempDir = '', flags = '{}'] = process.argv.slice(2);
const aborter = new AbortController();
process.once('SIGTERM', () => aborter.abort('SIGTERM'));
const given = Object.entries(JSON.parse(flags) as Record<string, string>);
const client = await EtcdClient.open({ endpoints: [endpoint], connectionTimeoutMs: 5_000 });
process.stdout.write('{"kind":"running"}\n');
try {
  await runSnapshotter({
    client,
    store: openLocal({ container, prefix: '', homeDir: tempDir }),
    config: parseBackupConfig(new Map(given.map(([name, text]) => [name, [text]])), 'etcdbr'),
    tempDir,
    snapshotTimeoutMs: 0,
    observe: (event) => {
      const plain = (_: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value);
      if (event.kind !== 'full-progress') process.stdout.write(`${JSON.stringify(event, plain)}\n`);
    },
    signal: aborter.signal,
  });
} finally {
  client.close();
}
