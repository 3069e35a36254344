/** As `Promise.all`, but it waits for all of them: none still reads a file that its caller is about to remove. */
export async function allOrFirstFailure<const T extends readonly unknown[]>(
  jobs: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const settled = await Promise.allSettled(jobs);
  const failed = settled.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return Promise.all(jobs) as Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }>;
}
