/**
 * What a value says of itself when Kubernetes wrote it, without decoding more than envelope and metadata.
 *
 *   protobuf   "k8s\0", then runtime.Unknown { 1 TypeMeta { 1 apiVersion, 2 kind }, 2 object bytes, … };
 *              the object's field 1 is ObjectMeta { 1 name, 3 namespace, … }
 *   JSON       of custom resources: apiVersion, kind, metadata.name, metadata.namespace
 */
import { readJsonHead } from './json-head.js';

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

const MAGIC = Buffer.from('k8s\0', 'latin1');
/** No field of these is longer in Kubernetes; more is something else. */
const MAX_TEXT_BYTES = 1024;

/** Undefined for what is none, or is cut off before it says what it is. */
export function kubernetesObject(value: Buffer): KubernetesObject | undefined {
  if (value.subarray(0, MAGIC.length).equals(MAGIC)) return fromProtobuf(value.subarray(MAGIC.length));
  return value[0] === 0x7b ? fromJson(value) : undefined;
}

/** `Pod default/web-1 (v1)`. */
export function describeKubernetes({ apiVersion, kind, namespace, name }: KubernetesObject): string {
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name} (${apiVersion})`;
}

function fromProtobuf(unknown: Buffer): KubernetesObject | undefined {
  const type = field(unknown, 1);
  const object = field(unknown, 2);
  if (type === undefined || object === undefined) return undefined;
  const meta = field(object, 1) ?? Buffer.alloc(0);
  return made(text(type, 1), text(type, 2), text(meta, 3), text(meta, 1));
}

function fromJson(value: Buffer): KubernetesObject | undefined {
  const head = readJsonHead(value, ['apiVersion', 'kind', 'metadata.name', 'metadata.namespace']);
  return made(
    head.get('apiVersion'),
    head.get('kind'),
    head.get('metadata.namespace'),
    head.get('metadata.name'),
  );
}

function made(
  apiVersion: string | undefined,
  kind: string | undefined,
  namespace: string | undefined,
  name: string | undefined,
): KubernetesObject | undefined {
  if (!apiVersion || !kind) return undefined;
  return { apiVersion, kind, namespace: namespace ?? '', name: name ?? '' };
}

/** The first field of this number that has a length. Fields before it are passed over. */
function field(message: Buffer, wanted: number): Buffer | undefined {
  let at = 0;
  while (at < message.length) {
    const tag = varint(message, at);
    if (tag === undefined) return undefined;
    const wire = tag.value % 8;
    const number = Math.floor(tag.value / 8);
    const skipped = wire === 0 ? varint(message, tag.end)?.end : wire === 1 ? tag.end + 8 : tag.end + 4;
    if (wire === 2) {
      const length = varint(message, tag.end);
      if (length === undefined || length.end + length.value > message.length) return undefined;
      if (number === wanted) return message.subarray(length.end, length.end + length.value);
      at = length.end + length.value;
    } else if (skipped === undefined || (wire !== 0 && wire !== 1 && wire !== 5)) return undefined;
    else at = skipped;
  }
  return undefined;
}

function text(message: Buffer, wanted: number): string | undefined {
  const bytes = field(message, wanted);
  if (bytes === undefined || bytes.length > MAX_TEXT_BYTES) return undefined;
  return bytes.toString('utf8');
}

/** Up to 2^49: what is longer is no length and no tag. */
function varint(bytes: Buffer, start: number): { readonly value: number; readonly end: number } | undefined {
  let value = 0;
  for (let index = 0; index < 10; index++) {
    const byte = bytes[start + index];
    if (byte === undefined) return undefined;
    if (index < 7) value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, end: start + index + 1 };
  }
  return undefined;
}
