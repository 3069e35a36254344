/**
 * `npm run bench -- [SCENARIO…] [--mib N] [--rounds N] [--seconds N] [--revisions N] [--events N]`
 * Scenarios: full, check, restore, load, delta; with --peer PATH (a binary of the Go tool) also peer. Prints Markdown. Needs the test etcds (test/servers/etcd.sh all).
 */
import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { formatBytes } from '../src/base/bytes.js';
import { check } from './scenarios/check.js';
import { delta } from './scenarios/delta.js';
import { full } from './scenarios/full.js';
import { load } from './scenarios/load.js';
import { restore, restoreBesidePeer } from './scenarios/restore.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    mib: { type: 'string', default: '2430' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '60' },
    revisions: { type: 'string', default: '100000' },
    events: { type: 'string', default: '500000' },
    peer: { type: 'string' },
  },
});
const [mib, rounds, seconds] = [Number(values.mib), Number(values.rounds), Number(values.seconds)];
const scenarios: Readonly<Record<string, () => Promise<string>>> = {
  check: () => check(mib, rounds),
  delta: () => delta(Number(values.events)),
  full: () => full(mib, rounds),
  load: () => load(seconds, rounds),
  restore: () => restore(mib, Number(values.revisions), rounds),
  ...(values.peer === undefined ? {} : { peer: () => besidePeer(values.peer as string) }),
};

function besidePeer(peer: string): Promise<string> {
  return restoreBesidePeer(peer, mib, Number(values.revisions), rounds);
}

const chosen = positionals.length > 0 ? positionals : Object.keys(scenarios);
const unknown = chosen.filter((name) => !Object.hasOwn(scenarios, name));
if (unknown.length > 0) {
  process.stderr.write(`bench: ${unknown.join(', ')}: there are ${Object.keys(scenarios).join(', ')}\n`);
  process.exit(2);
}
process.stdout.write(
  `${cpus().length} x ${cpus()[0]?.model}, ${formatBytes(totalmem())}, Node ${process.version}\n`,
);
for (const name of chosen) process.stdout.write(`\n## ${name}\n\n${await scenarios[name]?.()}\n`);
