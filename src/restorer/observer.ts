/** What a running restore tells. */
export interface RestoreObserver {
  /** A stage and how far it is; `total` is undefined where nobody knows it. */
  progress(stage: string, done: number, total: number | undefined, unit: 'bytes' | 'events' | 'pages'): void;
  /** Something that the reader should know, and that does not stop the restore. */
  warn(text: string): void;
  info(text: string): void;
}
