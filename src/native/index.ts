/** The native verbs. Import this, never `binding.js`, which is generated. */
export * from './apply.js';
export type { NativeOptions } from './call.js';
export * from './compact.js';
export * from './compare.js';
export * from './db.js';
export * from './delta.js';
export * from './files.js';
export * from './full.js';
export * from './look.js';
export * from './member.js';
export * from './replay.js';
export * from './wal.js';
