/** What a manifest states, held against what its object was found to hold. One sentence for each difference. */
import type { DeltaLastEvent, DeltaSummary, UnpackedFull } from '../native/index.js';
import type { LastRecord, Manifest } from '../snapshot/manifest.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import type { CheckedPlain } from './verify-full.js';

export function compareFull(
  manifest: Manifest,
  { bytes }: Pick<StoredSnapshot, 'bytes'>,
  unpacked: UnpackedFull,
  { info, hash }: CheckedPlain,
): string[] {
  const differences = new Differences();
  differences.add('its SHA-256 is', unpacked.packedSha256, manifest.sha256);
  differences.add('its bytes are', bytes, manifest.bytes);
  differences.add('the SHA-256 of its database is', unpacked.dbSha256, manifest.plain?.sha256);
  differences.add('the bytes of its snapshot are', unpacked.plainBytes, manifest.plain?.bytes);
  if (info === undefined) return differences.found;
  differences.add('it holds revision', info.revision, manifest.revision);
  differences.add('it was compacted at', info.compactRevision, manifest.compactRevision);
  if (hash?.comparable) {
    differences.add(`HashKV at revision ${hash.revision} is`, hash.hash, manifest.hashKv?.hash);
  }
  if (manifest.lastRecord !== undefined) {
    const last = info.lastRecord;
    differences.add(
      'its last record is',
      last === null ? 'none' : describe(last.main, last.key, last.tombstone, last.sha256),
      describeStated(manifest.lastRecord),
    );
  }
  return differences.found;
}

export function compareDelta(
  manifest: Manifest,
  summary: DeltaSummary,
  last: DeltaLastEvent | undefined,
): string[] {
  const differences = new Differences();
  differences.add('its SHA-256 is', summary.sha256, manifest.sha256);
  differences.add('its bytes are', summary.bytes, manifest.bytes);
  differences.add('it ends at revision', summary.lastRevision, manifest.revision);
  differences.add('its events are', summary.events, manifest.events);
  if (last !== undefined && manifest.lastRecord !== undefined) {
    const { main, key, tombstone, recordSha256 } = last;
    differences.add(
      'its last record is',
      describe(main, key, tombstone, recordSha256),
      describeStated(manifest.lastRecord),
    );
  }
  return differences.found;
}

class Differences {
  readonly found: string[] = [];

  add<T>(what: string, found: T, stated: T | undefined): void {
    if (stated !== undefined && stated !== found)
      this.found.push(`${what} ${found}, its manifest states ${stated}`);
  }
}

function describeStated({ modRevision, keyBase64, tombstone, sha256 }: LastRecord): string {
  return describe(modRevision, Buffer.from(keyBase64, 'base64'), tombstone, sha256);
}

function describe(main: bigint, key: Uint8Array, tombstone: boolean, sha256: string): string {
  const what = tombstone ? 'a deletion' : `SHA-256 ${sha256}`;
  return `revision ${main} of ${JSON.stringify(Buffer.from(key).toString('latin1'))} (${what})`;
}
