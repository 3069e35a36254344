/** How what is written is compressed, and for whom: the Go tool cannot read all that we can write. */
import { BackupError } from '../errors.js';
import { bool, choice, type Given, parseFlags } from './flag.js';

/** The name that the program was called by; `etcdbrctl` writes what the Go tool can restore unless told otherwise. */
export type ProgramName = 'etcdbr' | 'etcdbrctl';

export const compressionFlags = {
  compat: choice('compat', ['', 'gardener', 'none'], '', 'gardener: write only what the Go tool can restore'),
  compress: bool('compress-snapshots', true, 'compress what is written'),
  compressionPolicy: choice(
    'compression-policy',
    ['', 'gzip', 'zlib', 'lzw', 'zstd', 'none'],
    '',
    'how fulls and json deltas are compressed',
  ),
} as const;

export interface CompressionConfig {
  /** Only what the Go tool can restore may be written. */
  readonly gardener: boolean;
  readonly fullCodec: 'none' | 'gzip' | 'zlib' | 'lzw' | 'zstd';
  /** Of json deltas. */
  readonly jsonCodec: 'none' | 'gzip' | 'zlib' | 'lzw';
  /** Whether the codec was asked for, not just the default. */
  readonly chosen: boolean;
}

export function parseCompressionConfig(given: Given, program: ProgramName): CompressionConfig {
  const { compat, compress, compressionPolicy: policy } = parseFlags(compressionFlags, given);
  const gardener = compat === 'gardener' || (compat === '' && program === 'etcdbrctl');
  const standard = gardener ? 'gzip' : 'zstd';
  const fullCodec = compress ? policy || standard : 'none';
  if (gardener && fullCodec === 'zstd') {
    throw new BackupError('USAGE', 'zstd cannot be restored by the Go tool', {
      object: '--compression-policy',
      hint: 'give another value, or --compat none',
    });
  }
  const jsonCodec = fullCodec === 'zstd' ? 'gzip' : fullCodec;
  return Object.freeze({ gardener, fullCodec, jsonCodec, chosen: !compress || policy !== '' });
}
