/** A restore of a large base and many deltas through the embedded etcd. */

import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { etcdBinary } from '../../test/servers/binaries.js';
import { blast } from '../../test/servers/blast.js';
import { startEtcd } from '../../test/servers/etcd.js';
import { exited, removeTempDir, tempDir } from '../../test/servers/process.js';
import { copyOfMember, program } from '../datasets.js';
import { interleave, type Measured, measure } from '../measure.js';
import { head, ratio, row } from '../report.js';

const VERSION = '3.5.35';
const READY_LINE = 'full snapshot of revision';

export async function restore(mib: number, revisions: number, rounds: number): Promise<string> {
  const dir = tempDir('bench-restore');
  try {
    const store = ['--store-container', join(dir, 'store'), '--snapstore-temp-directory', join(dir, 'tmp')];
    await backUp(mib, revisions, dir, store);
    const target = join(dir, 'restored');
    const etcd = ['--etcd-binary', etcdBinary(VERSION)];
    const all: Measured[] = [];
    for (let round = 0; round < rounds; round++) {
      await rm(target, { recursive: true, force: true });
      all.push(await measure(program, ['restore', '--data-dir', target, ...store, ...etcd]));
    }
    const base: Measured[] = [];
    for (let round = 0; round < rounds; round++) {
      await rm(target, { recursive: true, force: true });
      base.push(
        await measure(program, [
          'restore',
          '--data-dir',
          target,
          ...store,
          '--exclude',
          await firstDelta(store),
          '--allow-older',
        ]),
      );
    }
    const deltaMs = all.map(({ wallMs }, index) => wallMs - (base[index]?.wallMs ?? 0));
    const rate = Math.round((revisions * 1000) / (deltaMs.reduce((sum, ms) => sum + ms, 0) / rounds));
    return [
      head,
      row(`restore, ${mib} MiB and ${revisions} revisions`, all, `${rate} revisions/s above the base`),
      row('the base alone', base),
    ].join('\n');
  } finally {
    await removeTempDir(dir);
  }
}

/** Both tools on one set that the Go tool can read: gzip and JSON. */
export async function restoreBesidePeer(
  peer: string,
  mib: number,
  revisions: number,
  rounds: number,
): Promise<string> {
  const dir = tempDir('bench-peer');
  try {
    const store = ['--store-container', join(dir, 'store'), '--snapstore-temp-directory', join(dir, 'tmp')];
    await backUp(mib, revisions, dir, [...store, '--compat', 'gardener']);
    const target = join(dir, 'restored');
    const ours = ['restore', '--data-dir', target, ...store, '--etcd-binary', etcdBinary(VERSION)];
    // The Go tool takes a container below $HOME.
    const theirs = [
      'restore',
      '--data-dir',
      target,
      '--storage-provider',
      'Local',
      '--store-container',
      'store',
    ];
    theirs.push(
      '--restoration-temp-snapshots-dir',
      join(dir, 'rt'),
      '--embedded-etcd-quota-bytes',
      '34359738368',
    );
    const afresh = async (run: () => Promise<Measured>) => {
      await rm(target, { recursive: true, force: true });
      return run();
    };
    const { etcdbr = [], go = [] } = await interleave(rounds, {
      etcdbr: () => afresh(() => measure(program, ours)),
      go: () => afresh(() => measure(peer, theirs, { HOME: dir })),
    });
    return [
      head,
      row('etcdbr restore, embedded applier', etcdbr, ratio(etcdbr, go)),
      row('the Go tool', go),
    ].join('\n');
  } finally {
    await removeTempDir(dir);
  }
}

async function backUp(mib: number, revisions: number, dir: string, store: readonly string[]): Promise<void> {
  await copyOfMember(mib, join(dir, 'data'));
  const etcd = await startEtcd(VERSION, {
    dataDir: join(dir, 'data'),
    flags: ['--quota-backend-bytes', '34359738368'],
  });
  try {
    const agent = spawn(program, ['snapshot', '--endpoints', etcd.endpoint, ...store], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await new Promise<void>((resolve, reject) => {
      agent.stderr.on('data', (chunk) => String(chunk).includes(READY_LINE) && resolve());
      agent.once('exit', (code) => reject(new Error(`the backup ended with ${code}`)));
    });
    await blast(etcd.connection(), {
      seed: 2,
      keys: 100_000,
      valueBytes: 300,
      inFlight: 50,
      puts: revisions,
    });
    agent.kill('SIGTERM');
    await exited(agent);
  } finally {
    await etcd.destroy();
    await rm(join(dir, 'data'), { recursive: true, force: true });
  }
}

async function firstDelta(store: readonly string[]): Promise<string> {
  const { stdout } = await measure(program, ['list', '--json', ...store]);
  const { objects } = JSON.parse(stdout) as { objects: { name: string; kind: string }[] };
  const delta = objects.find(({ kind }) => kind === 'delta');
  if (delta === undefined) throw new Error('the backup has no delta');
  return delta.name;
}
