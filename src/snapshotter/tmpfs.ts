/** Whether a directory is lost with the machine's memory. */
import { statfs } from 'node:fs/promises';

/** `f_type` of statfs(2). */
const TMPFS_MAGIC = 0x01021994;
const RAMFS_MAGIC = 0x858458f6;

export async function isInMemory(path: string): Promise<boolean> {
  const { type } = await statfs(path);
  return type === TMPFS_MAGIC || type === RAMFS_MAGIC;
}
