/** A full of a large etcd into a Local store, beside `etcdctl snapshot save` from the same etcd. */
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startEtcd } from '../../test/servers/etcd.js';
import { dbOf, packedMember, QUOTA_FLAGS } from '../datasets/member.js';
import { PEER_VERSION } from '../engines/etcdbr.js';
import { entry, memoryBar, race, ratioBar, type Workload } from './workload.js';

const MAX_RSS_BYTES = 120e6;

export const full: Workload = {
  name: 'full',
  about: 'A full snapshot of a running etcd: streamed, checked, compressed, stored.',
  timeShare: 3,
  prepare: ({ baseMib }) => packedMember(baseMib),
  async run(bench) {
    const { ours, etcdctl, copying } = bench.engines;
    const member = await packedMember(bench.size.baseMib);
    const dataDir = join(bench.workDir, 'data');
    await cp(member, dataDir, { recursive: true, mode: 2 });
    const etcd = await startEtcd(PEER_VERSION, { dataDir, flags: QUOTA_FLAGS });
    try {
      const to = bench.workDir;
      const task = { verb: 'full' as const, endpoint: etcd.endpoint, to };
      const raced = await race(bench, [
        entry(ours, task, { before: () => rm(join(to, 'store'), { recursive: true, force: true }) }),
        entry(etcdctl, task, { before: () => rm(join(to, 'peer.db'), { force: true }) }),
        entry(copying, { verb: 'copy', file: dbOf(member), to: join(to, 'copy') }),
      ]);
      const bars = [
        ...ratioBar('full to etcdctl snapshot save', raced.contestants, {
          ours: ours.name,
          theirs: [etcdctl.name],
          atMost: 1.6,
        }),
        ...memoryBar('peak memory of a full', raced.contestants, ours.name, MAX_RSS_BYTES),
      ];
      const input = `${bench.size.baseMib} MiB of records (seed 1) in an etcd ${PEER_VERSION}`;
      return [{ title: 'Full snapshot', input, ...raced, bars }];
    } finally {
      await etcd.destroy();
    }
  },
};
