/** What a failed call to etcd means: gRPC status and etcd's own text to one of our codes. Done here and nowhere else. */
import { status as Status, type StatusObject } from '@grpc/grpc-js';
import { BackupError, type ErrorCode } from '../errors.js';

/** Converts what gRPC (or our own abort) threw; a `BackupError` passes unchanged. */
export function etcdFailure(error: unknown, op: string, object: string): BackupError {
  if (error instanceof BackupError) return error;
  const { code, details } = statusOf(error);
  const verdict = verdictOf(code, details);
  const hint = verdict.hint === undefined ? {} : { hint: verdict.hint };
  return new BackupError(verdict.code, details, { op, object, cause: error, ...hint });
}

/** As `etcdFailure`, for a stream: one that broke without a reason that we know is worth another try. */
export function streamFailure(error: unknown, op: string, object: string): BackupError {
  const failure = etcdFailure(error, op, object);
  if (!isGrpcFailure(error) || !UNEXPLAINED.has(failure.code)) return failure;
  return new BackupError('UNAVAILABLE', statusOf(error).details, { op, object, cause: error });
}

const UNEXPLAINED: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['INTERNAL', 'CANCELLED']);

/** The token was dropped (expiry, restart of etcd) or the users changed since: a new Authenticate cures both. */
export function isTokenFailure(error: unknown): boolean {
  const { details } = statusOf(error);
  return /invalid auth token|revision (of|in) (the )?auth store is old/.test(details);
}

interface Verdict {
  readonly code: ErrorCode;
  readonly hint?: string;
}

/** etcd's texts come first: several of them share one gRPC code. */
const BY_TEXT: readonly (readonly [RegExp, Verdict])[] = [
  [/required revision has been compacted/, { code: 'COMPACTED' }],
  [/required revision is a future revision/, { code: 'NOT_FOUND' }],
  [/requested lease not found/, { code: 'NOT_FOUND' }],
  [/lease already exists/, { code: 'EXISTS' }],
  [
    /user name is empty/,
    { code: 'PERMISSION', hint: 'etcd has auth enabled: give --etcd-username and --etcd-password' },
  ],
  [
    /authentication failed|invalid auth token|auth store is old/,
    { code: 'PERMISSION', hint: 'check user and password' },
  ],
  [/permission denied/, { code: 'PERMISSION', hint: 'a backup needs a user with the role root' }],
  [/database space exceeded/, { code: 'NO_SPACE', hint: 'compact, defragment and disarm the NOSPACE alarm' }],
  [/corrupt cluster/, { code: 'CORRUPT' }],
  [/larger than max|request is too large/, { code: 'UNSUPPORTED' }],
  [
    /too many requests|no leader|leader changed|request timed out|server stopped|not capable/,
    { code: 'UNAVAILABLE' },
  ],
  [
    /self.signed|certificate|altnames|unable to verify|wrong version number|EPROTO/i,
    { code: 'PERMISSION', hint: 'TLS failed: check the scheme of the endpoint, --cacert, --cert and --key' },
  ],
  [/RST_STREAM|ECONNRESET|EPIPE|GOAWAY|Connection dropped/, { code: 'UNAVAILABLE' }],
];

const BY_STATUS: ReadonlyMap<Status, ErrorCode> = new Map([
  [Status.CANCELLED, 'CANCELLED'],
  [Status.DEADLINE_EXCEEDED, 'TIMEOUT'],
  [Status.NOT_FOUND, 'NOT_FOUND'],
  [Status.PERMISSION_DENIED, 'PERMISSION'],
  [Status.UNAUTHENTICATED, 'PERMISSION'],
  [Status.UNAVAILABLE, 'UNAVAILABLE'],
  [Status.RESOURCE_EXHAUSTED, 'UNAVAILABLE'],
  [Status.UNIMPLEMENTED, 'UNSUPPORTED'],
  [Status.DATA_LOSS, 'CORRUPT'],
]);

function verdictOf(code: Status, details: string): Verdict {
  const byText = BY_TEXT.find(([pattern]) => pattern.test(details));
  return byText === undefined ? { code: BY_STATUS.get(code) ?? 'INTERNAL' } : byText[1];
}

/** Else it is a fault of our own, or of a sink: never retried. */
function isGrpcFailure(error: unknown): boolean {
  return typeof (error as Partial<StatusObject>).code === 'number';
}

function statusOf(error: unknown): { code: Status; details: string } {
  const { code, details, message, name } = error as Partial<StatusObject> & Partial<Error>;
  if (name === 'AbortError') return { code: Status.CANCELLED, details: 'cancelled' };
  const text = details !== undefined && details !== '' ? details : (message ?? String(error));
  return { code: typeof code === 'number' ? code : Status.UNKNOWN, details: text };
}
