/** Readers as the command line would open them, and their answers as plain data. */
import type { LookRow } from '../../src/native/index.js';
import { readCatalog } from '../../src/pipeline/catalog.js';
import type { Answer } from '../../src/reader/reader.js';
import { StoreReader } from '../../src/reader/store-reader.js';
import { openStore } from '../../src/store/open-store.js';
import type { Truth } from '../servers/truth.js';

export const ALL = { key: Buffer.alloc(0), isPrefix: true };

export function one(key: string | Buffer) {
  return { key: Buffer.from(key), isPrefix: false };
}

export function prefix(key: string) {
  return { key: Buffer.from(key), isPrefix: true };
}

export interface ReaderChange {
  readonly exclude?: readonly string[];
  readonly timeline?: 'newest' | 'highest';
  readonly warnings?: string[];
}

export async function storeReader(
  container: string,
  { exclude = [], timeline, warnings = [] }: ReaderChange = {},
): Promise<StoreReader> {
  const settings = { provider: 'Local', container, prefix: '', homeDir: '/nowhere' };
  const store = await openStore(settings);
  const { objects } = await readCatalog(store);
  const warn = (text: string) => void warnings.push(text);
  const told = { warn, info: () => undefined };
  return new StoreReader(objects, {
    op: 'look',
    exclude,
    timeline,
    ...told,
    store,
    settings,
    tempDir: '/tmp',
  });
}

export async function rowsOf(answer: Promise<Answer> | Answer): Promise<LookRow[]> {
  const rows: LookRow[] = [];
  for await (const row of (await answer).rows) rows.push(row);
  return rows;
}

/** All that a key is, by key in latin1. */
export function byKey(rows: readonly LookRow[]): Map<string, string> {
  return new Map(rows.map((row) => [row.key.toString('latin1'), describe(row)]));
}

/** The same of what an etcd answered. */
export function truthByKey({ keys }: Pick<Truth, 'keys'>): Map<string, string> {
  return new Map(keys.map((kv) => [kv.key.toString('latin1'), describe(kv)]));
}

type Described = Pick<LookRow, 'createRevision' | 'modRevision' | 'version' | 'lease' | 'value'>;

export function describe({ createRevision, modRevision, version, lease, value }: Described): string {
  return [createRevision, modRevision, version, lease, value.toString('latin1')].join(' ');
}
