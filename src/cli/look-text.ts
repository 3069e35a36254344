/** Keys and values as text: whatever their bytes, a terminal is safe from them. */
import { describeKubernetes, kubernetesObject } from '../reader/kubernetes.js';

const NEWLINE = 0x0a;
const TAB = 0x09;

/** Printable UTF-8 as it is, every other byte as `\xNN`. A backslash is doubled, so that the text can be read back. */
export function printable(bytes: Buffer, { newlines = false } = {}): string {
  const text = bytes.toString('utf8');
  const isText = !text.includes('\ufffd');
  if (isText) return [...text].map((char) => escapeChar(char, newlines)).join('');
  return [...bytes]
    .map((byte) => (byte < 0x7f ? escapeChar(String.fromCharCode(byte), newlines) : hex(byte)))
    .join('');
}

/** What is behind a key, for people: an object of Kubernetes by its name, text as text. */
export function describeValue(value: Buffer): string {
  const object = kubernetesObject(value);
  if (object === undefined) return printable(value, { newlines: true });
  return `${describeKubernetes(object)}, ${value.length} bytes`;
}

/** "", or what Kubernetes calls it. */
export function kubernetesName(value: Buffer): string {
  const object = kubernetesObject(value);
  return object === undefined ? '' : describeKubernetes(object);
}

function escapeChar(char: string, newlines: boolean): string {
  const code = char.codePointAt(0) ?? 0;
  if (code === NEWLINE || code === TAB) return newlines ? char : hex(code);
  if (char === '\\') return '\\\\';
  // C0, DEL, C1, and what changes the direction of text.
  const isControl =
    code < 0x20 || (code >= 0x7f && code < 0xa0) || /[\u2028-\u202e\u2066-\u2069]/u.test(char);
  return isControl ? [...Buffer.from(char)].map(hex).join('') : char;
}

function hex(byte: number): string {
  return `\\x${byte.toString(16).padStart(2, '0')}`;
}
