/** The check of a large database, warm, beside `etcdutl snapshot status` and `bbolt check`. */
import { join } from 'node:path';
import { bboltBinary, etcdBinary } from '../../test/servers/binaries.js';
import { memberOf } from '../datasets.js';
import { interleave, measure } from '../measure.js';
import { head, ratio, row } from '../report.js';

export async function check(mib: number, rounds: number): Promise<string> {
  const db = join(await memberOf(mib), 'member', 'snap', 'db');
  const native = new URL('../../dist/native/index.js', import.meta.url).href;
  const code = `const { checkDb } = await import(${JSON.stringify(native)});
    const { findingsTotal } = await checkDb(${JSON.stringify(db)}, { threads: 2, maxFindings: 1 });
    process.exitCode = findingsTotal === 0 ? 0 : 1;`;
  const results = await interleave(rounds, {
    ours: () => measure(process.execPath, ['--input-type=module', '-e', code]),
    etcdutl: () => measure(etcdBinary('3.5.35', 'etcdutl'), ['snapshot', 'status', db]),
    bbolt: () => measure(bboltBinary(), ['check', db]),
  });
  const { ours = [], etcdutl = [], bbolt = [] } = results;
  return [
    head,
    row('checkDb, with the start of Node', ours),
    row('etcdutl snapshot status 3.5.35', etcdutl, `ours takes ${ratio(ours, etcdutl)}`),
    row('bbolt check', bbolt, `ours takes ${ratio(ours, bbolt)}`),
  ].join('\n');
}
