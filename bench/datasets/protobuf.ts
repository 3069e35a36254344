/** As much of protobuf's wire format as data sets need to be written in. */

export function field(number: number, value: Uint8Array): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(value.length), value]);
}

export function varintField(number: number, value: number): Buffer {
  return Buffer.concat([varint(number * 8), varint(value)]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  return Buffer.from([...bytes, rest]);
}
