// Makes a gateway that contains an earlier API: the program of this tree with other data, without a second build.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { load } from '../clients/packages.mjs';
import { binary } from '../paths.mjs';

const protobuf = load('protobufjs');
const { FileDescriptorProto } = load('protobufjs/ext/descriptor');

/** The flag of a gzip header with a comment (RFC 1952), and the place of the comment in a header without other parts. */
const COMMENT_FLAG = 1 << 4;
const FLAGS_AT = 3;
const COMMENT_AT = 10;

/** The fields of a serialized FileDescriptorSet that are no protos of stampgate, such as those of the health service. */
function foreignFiles(descriptors) {
  const reader = protobuf.Reader.create(descriptors);
  const writer = protobuf.Writer.create();
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const file = reader.bytes();
    if (!FileDescriptorProto.decode(file).name.startsWith('stampgate/')) writer.uint32(tag).bytes(file);
  }
  return writer.finish();
}

/** Compresses data to exactly this many bytes. A comment, which no reader shows, occupies the rest. */
function gzipTo(size, data) {
  const compressed = gzipSync(data, { level: 9 });
  assert.equal(compressed[FLAGS_AT], 0);
  compressed[FLAGS_AT] = COMMENT_FLAG;
  const rest = size - compressed.length;
  assert.ok(rest > 0, `the earlier API is ${-rest} bytes larger than that of today`);
  const comment = Buffer.from(`${' '.repeat(rest - 1)}\0`);
  return Buffer.concat([compressed.subarray(0, COMMENT_AT), comment, compressed.subarray(COMMENT_AT)]);
}

/**
 * Writes a program to `folder` that contains the API in `descriptors`, a serialized FileDescriptorSet, instead of today's.
 * @param {string} folder
 * @param {Buffer} descriptors
 * @returns {string} the path of the program
 */
export function earlierGateway(folder, descriptors) {
  const today = readFileSync(binary('proto/operations.binpb.gz'));
  const program = readFileSync(binary('gateway/stampgate'));
  const place = program.indexOf(today);
  assert.ok(place > 0 && program.indexOf(today, place + 1) < 0, 'the program contains its operations once');
  gzipTo(today.length, Buffer.concat([foreignFiles(gunzipSync(today)), descriptors])).copy(program, place);
  const file = join(folder, 'earlier_stampgate');
  writeFileSync(file, program, { mode: 0o755 });
  return file;
}
