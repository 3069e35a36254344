import { readdir } from 'node:fs/promises';

/** Hidden files below a directory, by their path in it. */
export async function hiddenFiles(root: string): Promise<string[]> {
  const names = await readdir(root, { recursive: true }).catch(() => []);
  return names.filter((name) => name.split('/').at(-1)?.startsWith('.'));
}
