/** A process that starts an embedded etcd, says its pid and waits to be killed. Run by embedded.test.ts. */
import { startEmbedded } from '../../src/etcd/embedded.js';
import { probeEtcdBinary } from '../../src/etcd/etcd-binary.js';

const [binary, dataDir, workParent] = process.argv.slice(2) as [string, string, string];
const etcd = await startEmbedded({
  binary: await probeEtcdBinary(binary),
  dataDir,
  workParent,
  quotaBytes: 1 << 30,
  maxRequestBytes: 1 << 20,
  maxTxnOps: 100,
  readyTimeoutMs: 20_000,
});
process.stdout.write(`${etcd.pid}\n`);
setInterval(() => undefined, 60_000);
