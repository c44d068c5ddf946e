// Text that callers write into the metadata of a call does not reach upstream or the log, and does not change the
// caller's identity. The tests send raw HTTP/2 frames, because client libraries refuse such metadata.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { encode } from '../clients/gateway.mjs';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { QUERY } from './failures.mjs';
import { HANG_MS, auditConfig, freeCaller, scratch, startStack } from './harness.mjs';
import { until } from './processes.mjs';
import { rawCall } from './raw_http2.mjs';

const CANARY = 'canary-2d7e91';
const TOKEN = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const request = encode(QUERY.method, QUERY.request);

/** The number of calls that have ended since `before`, by code. */
async function endings(gateway, before = new Map()) {
  const counts = new Map();
  for (const [id, value] of await metricsOf(gateway)) {
    const [, code] = /^stampgate_calls_total\{code="([A-Z_]+)"/.exec(id) ?? [];
    if (code) counts.set(code, (counts.get(code) ?? 0) + value);
  }
  return new Map(
    [...counts].map(([code, count]) => [code, count - (before.get(code) ?? 0)]).filter(([, count]) => count),
  );
}

/** Makes a call. Resolves to how it ended, and to its code in the metrics unless it is not counted. */
async function attempt({ simulator, gateway }, fields, { isCounted = true } = {}) {
  simulator.clearRequests();
  const before = await endings(gateway);
  const how = await rawCall(gateway.address, QUERY.method, request, fields);
  // If gRPC itself ends a call, the gateway counts it a little later.
  if (isCounted) await until(async () => (await endings(gateway, before)).size > 0, 'the call is counted');
  const codes = await endings(gateway, before);
  assert.ok(codes.size <= 1);
  return { how, code: [...codes.keys()][0], sent: simulator.requests() };
}

const long = CANARY.repeat(1_200); // 16,800 bytes: more than the limit of 8 KiB

/** Metadata that a later program could misinterpret. The gateway refuses it. */
const REFUSED = {
  'a line that looks like a header of its own': [['x-a', `a\r\nX-Stamp: ${CANARY}\r\nx-b: c`]],
  'a whole request': [['x-a', `a\r\n\r\nPOST /${CANARY} HTTP/1.1\r\nHost: a\r\n\r\n`]],
  'a line feed alone': [['x-a', `a\nx-b: ${CANARY}`]],
  'a NUL': [['x-a', `a\0${CANARY}`]],
  'bytes that are not ASCII': [['x-a', `\x80\xff${CANARY}`]],
  '16 kB': [['x-a', long]],
  '16 kB in many fields': Array.from({ length: 16 }, (_, i) => [`x-${i}`, long.slice(0, 1_000)]),
  'a stamp': [['x-stamp', CANARY]],
  "a passkey's stamp": [['x-stamp-webauthn', CANARY]],
};

/** Metadata for which gRPC itself ends the call. The gateway does not learn with which code, and counts CANCELLED. */
const REFUSED_BY_GRPC = {
  'a line in a name': [[`x-a: b\r\n${CANARY}`, 'c']],
  'a name in capitals': [['X-A', CANARY]],
  'an empty name': [['', CANARY]],
  'an unknown pseudo-header': [[`:${CANARY}`, 'a']],
  'invalid base64 in a binary field': [['x-a-bin', `%%%${CANARY}`]],
};

/** Metadata that is valid, or that gRPC handles itself. The gateway ignores it. */
const PASSED_OVER = {
  'fields that control HTTP': [['host', CANARY], ['content-length', '5'], ['expect', '100-continue'], ['x-forwarded-for', CANARY]],
  'fields that HTTP/2 does not have': [['connection', 'keep-alive'], ['transfer-encoding', 'chunked'], ['upgrade', CANARY]],
  'names of gRPC': [['grpc-tags-bin', 'AA'], ['grpc-trace-bin', 'AA'], ['lb-token', CANARY], ['grpc-previous-rpc-attempts', '9']],
  'another authority': [[':authority', CANARY]],
  'the organization': [['x-organization-id', CANARY], ['organization-id', CANARY]],
  'the same twice': [['x-a', CANARY], ['x-a', CANARY], ['te', 'trailers'], ['content-type', 'application/grpc']],
}; // prettier-ignore

describe('metadata', { timeout: HANG_MS }, async () => {
  const audit = await auditConfig(scratch({ after }));
  const stack = await startStack({ after }, { config: { admin: ADMIN, audit, callers: freeCaller() } });
  const { gateway } = stack;
  const plain = await attempt(stack, []);
  const namesOf = ({ headers }) => headers.map(([name]) => name);

  it('in the right form does not affect a call', () => {
    assert.deepEqual([plain.how, plain.code, plain.sent.length], ['answered', 'OK', 1]);
  });

  for (const [refused, expected] of [
    [REFUSED, 'INVALID_ARGUMENT'],
    [REFUSED_BY_GRPC, 'CANCELLED'],
  ]) {
    for (const [title, fields] of Object.entries(refused)) {
      it(`with ${title} is refused and counted`, async () => {
        const { how, code, sent } = await attempt(stack, fields);
        assert.deepEqual([how, code, sent], ['answered', expected, []]);
      });
    }
  }

  for (const [title, fields] of Object.entries(PASSED_OVER)) {
    it(`with ${title} does not change the request to upstream`, async () => {
      const { code, sent } = await attempt(stack, fields);
      assert.equal(code, 'OK');
      const [{ path, headers, body }] = sent;
      assert.deepEqual(
        [path, namesOf({ headers }), body],
        [plain.sent[0].path, namesOf(plain.sent[0]), plain.sent[0].body],
      );
      assert.ok(!JSON.stringify(headers).includes(CANARY));
    });
  }

  it('with 64 kB ends the connection, and nothing is sent', async () => {
    const { how, sent } = await attempt(stack, [['x-a', long.repeat(4)]], { isCounted: false });
    assert.deepEqual([how, sent], ['refused', []]);
  });

  it('with a second path ends the call, and nothing is sent', async () => {
    const { code, sent } = await attempt(stack, [[':path', `/${CANARY}`]], { isCounted: false });
    assert.deepEqual([code, sent], [undefined, []]);
  });

  it('is in no output of the gateway, which still serves calls', async () => {
    const { code } = await attempt(stack, []);
    assert.equal(code, 'OK');
    for (const text of [gateway.output, readFileSync(audit.file, 'utf8'), (await metricsOf(gateway)).text]) {
      assert.ok(!text.includes('canary'));
      assert.ok(!text.includes('\r'));
    }
  });
});

describe('a token', { timeout: HANG_MS }, async () => {
  const [{ grants }] = freeCaller();
  const token_sha256 = [createHash('sha256').update(TOKEN).digest('hex')];
  const callers = [{ name: 'one', loopback: true, token_sha256, grants }];
  const stack = await startStack({ after }, { config: { admin: ADMIN, callers } });
  const good = ['authorization', `Bearer ${TOKEN}`];

  it('identifies its caller', async () => {
    const { code, sent } = await attempt(stack, [good]);
    assert.deepEqual([code, sent.length], ['OK', 1]);
  });

  for (const [title, expected, fields] of [
    ['nothing else', 'UNAUTHENTICATED', []],
    ['its name in capitals', 'CANCELLED', [['Authorization', good[1]]]],
    ['a line end after it', 'INVALID_ARGUMENT', [['authorization', `${good[1]}\r\n`]]],
    ['a line before it', 'INVALID_ARGUMENT', [['authorization', `\r\n${good[1]}`]]],
    [
      'it on a second line of the same value',
      'INVALID_ARGUMENT',
      [['authorization', `Bearer x\r\nauthorization: ${good[1]}`]],
    ],
    ['it within the value of another field', 'INVALID_ARGUMENT', [['x-a', `b\r\nauthorization: ${good[1]}`]]],
    ['a NUL after it', 'INVALID_ARGUMENT', [['authorization', `${good[1]}\0`]]],
    ['it and further bytes after a NUL', 'INVALID_ARGUMENT', [['authorization', `${good[1]}\0x`]]],
    ['two of them', 'UNAUTHENTICATED', [good, good]],
    ['another one before it', 'UNAUTHENTICATED', [['authorization', 'Bearer x'], good]],
    ['another one after it', 'UNAUTHENTICATED', [good, ['authorization', 'Bearer x']]],
    ['a comma between', 'UNAUTHENTICATED', [['authorization', `Bearer x, ${good[1]}`]]],
    ['a space more', 'UNAUTHENTICATED', [['authorization', `Bearer  ${TOKEN}`]]],
    ['a space after it', 'UNAUTHENTICATED', [['authorization', `${good[1]} `]]],
    ['16 kB', 'INVALID_ARGUMENT', [['authorization', `${good[1]}${'x'.repeat(16_000)}`]]],
    ['binary', 'UNAUTHENTICATED', [['authorization-bin', Buffer.from(good[1]).toString('base64')]]],
  ]) {
    // prettier-ignore
    it(`that arrives with ${title} identifies nobody`, async () => {
      const { code, sent } = await attempt(stack, fields);
      assert.deepEqual([code, sent], [expected, []]);
    });
  }
});
