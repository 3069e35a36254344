/**
 * A fetch worker whose store misbehaves as the set's `faults.json` says, by object:
 *   { "<name>": { "slowMs": 200, "failAt": [1000, 5000], "code": "UNAVAILABLE", "hang": true } }
 * `failAt`: the reads that fail, and at which byte of the object. Every read is noted in `reads.log`.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BackupError } from '../../dist/errors.js';
import { runTask } from '../../dist/pipeline/task.js';
import { openLocal } from '../../dist/store/local/open.js';
import { RetryingStore } from '../../dist/store/retry.js';

const RETRY = { tries: 3, backoff: { firstMs: 5, factor: 1, maxMs: 5, jitter: 0 } };

export default function work(task) {
  return runTask(
    async (settings) => new RetryingStore(faulty(openLocal(settings), settings.homeDir), RETRY),
    task,
  );
}

function faulty(store, dir) {
  const faults = JSON.parse(readFileSync(`${dir}/faults.json`, 'utf8'));
  return {
    location: store.location,
    async *get(key, options = {}) {
      const name = key.split('/').at(-1);
      const fault = faults[name] ?? {};
      const offset = options.range?.offset ?? 0;
      appendFileSync(`${dir}/reads.log`, `${name} ${offset}\n`);
      if (fault.hang) await hang(options.signal);
      if (fault.slowMs) await sleep(fault.slowMs);
      const failAt = fault.failAt?.shift();
      let at = offset;
      for await (const chunk of store.get(key, options)) {
        if (failAt !== undefined && at + chunk.length > failAt) {
          if (failAt > at) yield chunk.subarray(0, failAt - at);
          throw new BackupError(fault.code ?? 'UNAVAILABLE', 'as told', { op: 'store get', object: key });
        }
        at += chunk.length;
        yield chunk;
      }
    },
  };
}

function hang(signal) {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(new BackupError('CANCELLED', 'cancelled')), {
      once: true,
    });
  });
}
