/** Where the backups are. */
import { homedir } from 'node:os';
import { type Given, integer, parseFlags, text } from './flag.js';

export const storeFlags = {
  provider: text(
    'storage-provider',
    'Local',
    'object store: Local; S3, ABS, GCS, Swift, OSS, ECS, OCS are to come',
  ),
  container: text(
    'store-container',
    '',
    'bucket or directory (relative: from the home directory); else $STORAGE_CONTAINER',
  ),
  prefix: text('store-prefix', '', 'directory inside the container'),
  endpointOverride: text('store-endpoint-override', '', 'endpoint of the object store', {
    later: 'other stores than Local',
  }),
  maxParallelChunkUploads: integer('max-parallel-chunk-uploads', 5, 'parts of one upload at a time', {
    min: 1,
    later: 'upload in parts',
  }),
  minChunkBytes: integer('min-chunk-size', 5 * 1024 * 1024, 'smallest part of an upload, in bytes', {
    min: 5 * 1024 * 1024,
    later: 'upload in parts',
  }),
  tempDir: text('snapstore-temp-directory', '/tmp', 'directory for files on their way'),
} as const;

/** Structurally what `src/store` opens. */
export interface StoreConfig {
  readonly provider: string;
  readonly container: string;
  readonly prefix: string;
  readonly homeDir: string;
  readonly tempDir: string;
}

const DEFAULT_CONTAINER = 'default.bkp';

export function parseStoreConfig(given: Given, env: NodeJS.ProcessEnv = process.env): StoreConfig {
  const values = parseFlags(storeFlags, given);
  return Object.freeze({
    provider: values.provider === '' ? 'Local' : values.provider,
    container: values.container || env.STORAGE_CONTAINER || DEFAULT_CONTAINER,
    prefix: values.prefix,
    homeDir: env.HOME || homedir(),
    tempDir: values.tempDir || '/tmp',
  });
}
