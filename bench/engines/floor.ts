/** What the machine needs for the same bytes when nothing is understood of them: nobody can be faster. */
import type { Engine } from './engine.js';

export const reading: Engine = {
  name: 'reading the file',
  role: 'floor',
  job: (task) =>
    task.verb === 'read'
      ? { command: 'dd', args: [`if=${task.file}`, 'of=/dev/null', 'bs=1M', 'status=none'] }
      : undefined,
};

export const copying: Engine = {
  name: 'copy + fsync',
  role: 'floor',
  job: (task) =>
    task.verb === 'copy'
      ? { command: 'dd', args: [`if=${task.file}`, `of=${task.to}`, 'bs=1M', 'conv=fsync', 'status=none'] }
      : undefined,
};

export const digesting: Engine = {
  name: 'sha256',
  role: 'floor',
  job: (task) =>
    task.verb === 'digest' ? { command: 'openssl', args: ['dgst', '-sha256', task.file] } : undefined,
};

/** `-t` decompresses and throws the bytes away. */
export const decompressing: Engine = {
  name: 'decompression alone',
  role: 'floor',
  job: (task) =>
    task.verb === 'decompress'
      ? { command: task.packed.endsWith('.gz') ? 'gzip' : 'zstd', args: ['-tq', task.packed] }
      : undefined,
};
