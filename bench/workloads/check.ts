/** The check of a large database, pages and records, beside `etcdutl snapshot status` and `bbolt check`. */
import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { formatBytes } from '../../src/base/bytes.js';
import { agedMember, dbOf, packedMember } from '../datasets/member.js';

import { type Bench, entry, type Outcome, race, ratioBar, type Workload } from './workload.js';

const run = promisify(execFile);

export const check: Workload = {
  name: 'check',
  about: 'Every page and every record of a database is read and checked.',
  timeShare: 2,
  prepare: ({ checkMib }) => agedMember(checkMib),
  async run(bench) {
    const { checkMib } = bench.size;
    const sections: Outcome[] = [];
    for (const [shape, member] of [
      ['packed', await packedMember(checkMib)],
      ['aged', await agedMember(checkMib)],
    ] as const) {
      sections.push(await section(bench, shape, 'warm', dbOf(member)));
      sections.push(await section(bench, shape, 'cold', dbOf(member)));
    }
    return sections;
  },
};

async function section(bench: Bench, shape: string, state: 'warm' | 'cold', db: string): Promise<Outcome> {
  const { ours, etcdutl, bbolt, reading } = bench.engines;
  const before = state === 'warm' ? () => warm(db) : () => forget(db);
  const raced = await race(bench, [
    ...[ours, etcdutl, bbolt].map((engine) => entry(engine, { verb: 'check', db }, { before })),
    entry(reading, { verb: 'read', file: db }, { before }),
  ]);
  const { contestants } = raced;
  const limits =
    state === 'warm'
      ? ratioBar(`full check of a ${shape} db, warm, to ${etcdutl.name}`, contestants, {
          ours: ours.name,
          theirs: [etcdutl.name],
          atMost: 1 / 4,
        })
      : ratioBar(`full check of a ${shape} db, cold, to reading the file`, contestants, {
          ours: ours.name,
          theirs: [reading.name],
          atMost: 1.2,
        });
  const made = shape === 'packed' ? 'written in one go' : 'compacted and overwritten by an etcd';
  return {
    title: `Check, ${shape}, ${state}`,
    input: `${formatBytes((await stat(db)).size)}, ${made} (seeds 1 and 3), ${state} page cache`,
    ...raced,
    bars: limits,
  };
}

async function warm(file: string): Promise<void> {
  await run('dd', [`if=${file}`, 'of=/dev/null', 'bs=1M', 'status=none']);
}

/** Takes the file out of the page cache; it has been synced. */
async function forget(file: string): Promise<void> {
  await run('dd', [`if=${file}`, 'iflag=nocache', 'count=0', 'status=none']);
}
