/** Results on stdout: tables for people, JSON for programs. */

export interface Output {
  /** A result for people. */
  text(line: string): void;
  table(head: readonly string[], rows: readonly (readonly string[])[]): void;
  /** The whole result for a program; 64-bit numbers become strings. */
  json(value: unknown): void;
}

export function createOutput(write: (text: string) => void): Output {
  return {
    text: (line) => write(`${line}\n`),
    table: (head, rows) => write(formatTable(head, rows)),
    json: (value) => write(`${JSON.stringify(value, plain, 2)}\n`),
  };
}

/** Columns as wide as their widest cell; a column of numbers is set right. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const numeric = head.map(
    (_, column) => rows.length > 0 && rows.every((row) => /^[\d.,]+( \w+)?$/.test(row[column] ?? '')),
  );
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    head
      .map((_, column) => {
        const cell = cells[column] ?? '';
        const width = widths[column] ?? 0;
        return numeric[column] ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  return `${[head, ...rows].map(line).join('\n')}\n`;
}

function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  return value;
}
