/** The etcd program that a replay runs: which version it is, and whether it can go without fsync. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { BackupError } from '../errors.js';

export interface EtcdBinary {
  readonly path: string;
  /** "3.6.16". */
  readonly version: string;
  /** `--unsafe-no-fsync` came with 3.5 and late 3.4 releases; help does not list it in 3.4. */
  readonly unsafeNoFsync: boolean;
}

const PROBE_TIMEOUT_MS = 20_000;

/** `path` may be a plain name, looked up in PATH. */
export async function probeEtcdBinary(path: string): Promise<EtcdBinary> {
  const withoutFsync = await versionText(path, ['--unsafe-no-fsync', '--version']).catch(() => undefined);
  const text = withoutFsync ?? (await versionText(path, ['--version']));
  const version = /^etcd Version: (\S+)/m.exec(text)?.[1];
  if (version === undefined) {
    throw new BackupError('UNSUPPORTED', 'does not answer --version as etcd does', {
      op: 'etcd',
      object: path,
      hint: HINT,
    });
  }
  return { path, version, unsafeNoFsync: withoutFsync !== undefined };
}

async function versionText(path: string, args: string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(path, args, { timeout: PROBE_TIMEOUT_MS, env: childEnv() });
    return stdout;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const missing = code === 'ENOENT';
    throw new BackupError(
      missing ? 'NOT_FOUND' : 'UNSUPPORTED',
      missing ? 'there is no such program' : `cannot be run (${code})`,
      {
        ...{ op: 'etcd', object: path, hint: HINT },
        cause,
      },
    );
  }
}

const HINT = 'give the path of an etcd 3.4 or newer with --etcd-binary';

/** Without ETCD_* variables, which are flags to etcd: those of the machine's own etcd are not meant for ours. */
export function childEnv(): NodeJS.ProcessEnv {
  const ours = ([name]: [string, unknown]) => !name.startsWith('ETCD_') || name === 'ETCD_UNSUPPORTED_ARCH';
  return Object.fromEntries(Object.entries(process.env).filter(ours));
}
