/**
 * The private working directory of an embedded etcd. It listens on sockets named relative to it, so that only we must
 * name them by a full path, which the system limits to 107 bytes.
 */
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const CLIENT_LISTEN_URL = 'unix://c.sock:1';
export const PEER_LISTEN_URL = 'unix://p.sock:2';
/** What etcd makes of the client URL. */
const CLIENT_SOCKET = 'c.sock:1';
const MAX_SOCKET_PATH_BYTES = 107;
const SHORT_PARENT = '/tmp';

export interface EmbeddedDir {
  readonly path: string;
  /** The client endpoint as we dial it. */
  readonly endpoint: string;
  remove(): Promise<void>;
}

/** mkdtemp gives mode 0700: nobody else can connect. */
export async function makeEmbeddedDir(parent: string = tmpdir()): Promise<EmbeddedDir> {
  const path = await mkdtemp(join(parent, 'etcdbr-replay-'));
  const direct = join(path, CLIENT_SOCKET);
  if (Buffer.byteLength(direct) <= MAX_SOCKET_PATH_BYTES) {
    return { path, endpoint: `unix://${direct}`, remove: () => rm(path, { recursive: true, force: true }) };
  }
  const short = await mkdtemp(join(SHORT_PARENT, 'etcdbr-'));
  await symlink(path, join(short, 'd'));
  return {
    path,
    endpoint: `unix://${join(short, 'd', CLIENT_SOCKET)}`,
    remove: async () => {
      await rm(short, { recursive: true, force: true });
      await rm(path, { recursive: true, force: true });
    },
  };
}
