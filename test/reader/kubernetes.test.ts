/** Values of Kubernetes are known by envelope and metadata, and nothing else is taken for one. */
import { describe, expect, test } from 'vitest';
import { printable } from '../../src/cli/look-text.js';
import { describeKubernetes, kubernetesObject } from '../../src/reader/kubernetes.js';
import { Random } from '../servers/random.js';

function bytesField(number: number, content: Buffer | string): Buffer {
  const bytes = Buffer.from(content as string);
  const length: number[] = [];
  let left = bytes.length;
  for (; left >= 0x80; left = Math.floor(left / 128)) length.push((left % 128) | 0x80);
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length, left]), bytes]);
}

function pod(name: string, namespace: string, specBytes = 3000): Buffer {
  const type = Buffer.concat([bytesField(1, 'v1'), bytesField(2, 'Pod')]);
  const meta = Buffer.concat([
    bytesField(1, name),
    bytesField(2, ''),
    bytesField(3, namespace),
    bytesField(5, 'uid'),
  ]);
  const object = Buffer.concat([bytesField(1, meta), bytesField(2, Buffer.alloc(specBytes, 0xee))]);
  const unknown = [bytesField(1, type), bytesField(2, object), bytesField(3, ''), bytesField(4, '')];
  return Buffer.concat([Buffer.from('k8s\0'), ...unknown]);
}

describe('kubernetes', () => {
  test('protobuf by its envelope', () => {
    const object = kubernetesObject(pod('web-1', 'default'));
    expect(object).toEqual({ apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'web-1' });
    expect(object && describeKubernetes(object)).toBe('Pod default/web-1 (v1)');
    const cluster = kubernetesObject(pod('node-1', ''));
    expect(cluster && describeKubernetes(cluster)).toBe('Pod node-1 (v1)');
  });

  test('JSON of a custom resource, whatever lies around what is looked for', () => {
    const resource = {
      apiVersion: 'cert-manager.io/v1',
      kind: 'Certificate',
      metadata: {
        annotations: { name: 'not this', kind: ['nor', { name: 'this' }], 'odd"quote\\': '{"name":"x"}' },
        name: 'web "tls"',
        namespace: 'prod',
        ownerReferences: [{ kind: 'Other', name: 'other' }],
      },
      spec: { metadata: { name: 'inner' }, big: 'x'.repeat(200_000) },
    };
    const expected = {
      apiVersion: 'cert-manager.io/v1',
      kind: 'Certificate',
      namespace: 'prod',
      name: 'web "tls"',
    };
    expect(kubernetesObject(Buffer.from(JSON.stringify(resource)))).toEqual(expected);
    expect(kubernetesObject(Buffer.from(JSON.stringify(resource, null, 2)))).toEqual(expected);
    const { metadata, ...rest } = resource;
    expect(kubernetesObject(Buffer.from(JSON.stringify({ metadata, ...rest })))).toEqual(expected);
  });

  test.each([
    '',
    'k8s\0',
    '{',
    '{}',
    '{"kind":"x"}',
    '{"a":[}',
    'null',
    '{"apiVersion":"v1","kind":{"kind":"Pod"}}',
  ])('none: %j', (text) => expect(kubernetesObject(Buffer.from(text, 'latin1'))).toBeUndefined());

  test('any bytes whatever give an object or none', () => {
    const random = new Random(5);
    const sound = pod('web-1', 'default', 20);
    for (let round = 0; round < 3_000; round++) {
      const bytes = Buffer.from(sound.subarray(0, random.int(sound.length) + 1));
      for (let flips = random.int(4); flips > 0; flips--)
        bytes.writeUInt8(random.int(256), random.int(bytes.length));
      const object = kubernetesObject(bytes);
      const shown = object === undefined ? '' : printable(Buffer.from(describeKubernetes(object)));
      expect([...shown].every((char) => char >= ' ')).toBe(true);
    }
  });
});

test('a terminal is safe from keys and values', () => {
  expect(printable(Buffer.from('plain text'))).toBe('plain text');
  expect(printable(Buffer.from('ü €'))).toBe('ü €');
  expect(printable(Buffer.from('back\\slash'))).toBe('back\\\\slash');
  expect(printable(Buffer.from('\x1b[2J\x07\x7f\n'))).toBe('\\x1b[2J\\x07\\x7f\\x0a');
  expect(printable(Buffer.from('a\n\tb'), { newlines: true })).toBe('a\n\tb');
  expect(printable(Buffer.from([0x61, 0xc3, 0x28, 0xff]))).toBe('a\\xc3(\\xff');
  // C1 controls and marks that turn the direction of text around.
  expect(printable(Buffer.from('\u009b31m\u202e'))).toBe('\\xc2\\x9b31m\\xe2\\x80\\xae');
});
