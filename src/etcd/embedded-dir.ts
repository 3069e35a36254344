/**
 * The private working directory of an embedded etcd. It listens on sockets named relative to it, so that only we must
 * name them by a full path, which the system limits to 107 bytes: a longer one goes through our handle of the directory.
 */
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const CLIENT_LISTEN_URL = 'unix://c.sock:1';
export const PEER_LISTEN_URL = 'unix://p.sock:2';
/** What etcd makes of the client URL. */
const CLIENT_SOCKET = 'c.sock:1';
const MAX_SOCKET_PATH_BYTES = 107;

export interface EmbeddedDir {
  readonly path: string;
  /** The client endpoint as we dial it, in this process. */
  readonly endpoint: string;
  remove(): Promise<void>;
}

/** mkdtemp gives mode 0700: nobody else can connect. */
export async function makeEmbeddedDir(parent: string = tmpdir()): Promise<EmbeddedDir> {
  const path = await mkdtemp(join(parent, 'etcdbr-replay-'));
  const remove = () => rm(path, { recursive: true, force: true });
  const direct = join(path, CLIENT_SOCKET);
  if (Buffer.byteLength(direct) <= MAX_SOCKET_PATH_BYTES)
    return { path, endpoint: `unix://${direct}`, remove };
  const handle = await open(path, 'r');
  return {
    path,
    // No link somewhere short: one would stay behind when this process is killed.
    endpoint: `unix:///proc/self/fd/${handle.fd}/${CLIENT_SOCKET}`,
    remove: async () => {
      await handle.close();
      await remove();
    },
  };
}
