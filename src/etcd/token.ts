/**
 * The auth token of one connection. etcd forgets simple tokens after 5 minutes without use and at every restart, and
 * refuses them once a user was changed; so a token is renewed by age, and once more when etcd refuses it.
 */
import { Metadata } from '@grpc/grpc-js';
import { isTokenFailure } from './failure.js';

/** Below etcd's default lifetime of 300 s, which `--auth-token-ttl` may change: refusal is handled too. */
const TOKEN_MAX_AGE_MS = 240_000;

export class TokenSource {
  readonly #authenticate: () => Promise<string | undefined>;
  #current: { readonly token: Promise<string | undefined>; readonly sinceMs: number } | undefined;

  /** `authenticate` returns no token when there is no user, or when etcd has auth switched off. */
  constructor(authenticate: () => Promise<string | undefined>) {
    this.#authenticate = authenticate;
  }

  /** Runs one call with a valid token; a call refused because of its token is made once more with a new one. */
  async run<T>(call: (metadata: Metadata) => Promise<T>): Promise<T> {
    const used = this.#valid();
    try {
      return await call(toMetadata(await used));
    } catch (error) {
      if (!isTokenFailure(error)) throw error;
      this.#forget(used);
      return await call(toMetadata(await this.#valid()));
    }
  }

  /** Metadata for a stream, which keeps the token that it was opened with. */
  async metadata(): Promise<Metadata> {
    return toMetadata(await this.#valid());
  }

  #valid(): Promise<string | undefined> {
    const held = this.#current;
    if (held !== undefined && performance.now() - held.sinceMs < TOKEN_MAX_AGE_MS) return held.token;
    const token = this.#authenticate();
    this.#current = { token, sinceMs: performance.now() };
    token.catch(() => this.#forget(token));
    return token;
  }

  /** Only the token that failed: calls in flight may have fetched a newer one meanwhile. */
  #forget(token: Promise<string | undefined>): void {
    if (this.#current?.token === token) this.#current = undefined;
  }
}

function toMetadata(token: string | undefined): Metadata {
  const metadata = new Metadata();
  if (token !== undefined) metadata.set('token', token);
  return metadata;
}
