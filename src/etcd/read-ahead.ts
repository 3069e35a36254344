/**
 * Bounds how many messages of a gRPC stream are held that its reader did not take yet. A Node stream of objects reads
 * 16 ahead whatever their size; a watch response can be a transaction of 50 MB.
 */
import { InterceptingCall, type Interceptor } from '@grpc/grpc-js';

export class ReadAhead {
  readonly #limit: number;
  #ahead = 0;
  #next: (() => void) | undefined;

  constructor(limitMessages: number) {
    this.#limit = limitMessages;
  }

  /** To be given to the call that is to be bounded, and to no other. */
  readonly interceptor: Interceptor = (options, nextCall) =>
    new InterceptingCall(nextCall(options), {
      start: (metadata, _listener, start) =>
        start(metadata, { onReceiveMessage: (message, pass) => this.#arrived(() => pass(message)) }),
    });

  /** The reader is done with one message. */
  taken(): void {
    this.#ahead -= 1;
    const next = this.#next;
    this.#next = undefined;
    if (next !== undefined) this.#arrived(next);
  }

  /** gRPC delivers the next message only when this one was passed on: at most one waits here. */
  #arrived(pass: () => void): void {
    if (this.#ahead >= this.#limit) {
      this.#next = pass;
      return;
    }
    this.#ahead += 1;
    pass();
  }
}
