/** Whether an etcd may replay on a base. */
import { BackupError } from '../errors.js';
import type { EtcdBinary } from '../etcd/etcd-binary.js';
import type { DbInfo } from '../native/index.js';

/** An older etcd than the one that wrote the base may not know what it finds there. */
export function checkReadable(
  { storageVersion, clusterVersion }: Pick<DbInfo, 'storageVersion' | 'clusterVersion'>,
  binary: EtcdBinary,
): void {
  const newest = newestVersion([storageVersion, clusterVersion]);
  if (newest === undefined || !isNewer(newest, binary.version)) return;
  const minor = minorOf(newest);
  throw new BackupError(
    'UNSUPPORTED',
    `it is an etcd ${binary.version}, the base was written by an etcd ${minor}`,
    {
      op: 'replay',
      object: binary.path,
      hint: `give an etcd ${minor} or newer with --etcd-binary`,
    },
  );
}

export function newestVersion(marks: readonly (string | null)[]): string | undefined {
  return marks
    .filter((mark) => mark !== null)
    .reduce<string | undefined>((high, mark) => (isNewer(mark, high) ? mark : high), undefined);
}

/** "3.6" of "3.6.16". */
export function minorOf(version: string): string {
  return version.split('.').slice(0, 2).join('.');
}

/** Compares major and minor. */
function isNewer(a: string, b: string | undefined): boolean {
  const [[majorA, minorA], [majorB, minorB]] = [numbers(a), numbers(b ?? '0.0')];
  return majorA === majorB ? minorA > minorB : majorA > majorB;
}

function numbers(version: string): readonly [number, number] {
  const [major = '0', minor = '0'] = version.split('.');
  return [Number.parseInt(major, 10) || 0, Number.parseInt(minor, 10) || 0];
}
