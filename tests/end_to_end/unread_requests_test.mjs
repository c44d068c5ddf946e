// Calls that end before the gateway has read a request: the log and the metrics do not blame the caller's request if gRPC
// itself has ended the call, or if the caller has left.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { code, encode } from '../clients/gateway.mjs';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { QUERY } from './failures.mjs';
import { HANG_MS, auditConfig, freeCaller, scratch, startStack } from './harness.mjs';
import { logged, recordsOf } from './log_lines.mjs';
import { until } from './processes.mjs';
import { rawCall } from './raw_http2.mjs';

const request = encode(QUERY.method, QUERY.request);
const METHOD = `/stampgate.v1.${QUERY.method}`;

/** How often calls of the method have ended with each code. */
async function codesOf(gateway) {
  const counts = {};
  for (const [id, value] of await metricsOf(gateway)) {
    const [, name, method] = /^stampgate_calls_total\{code="([A-Z_]+)",method="([^"]+)"/.exec(id) ?? [];
    if (method === METHOD && value > 0) counts[name] = value;
  }
  return counts;
}

describe('a call that ends before its request is read', { timeout: HANG_MS }, async () => {
  const audit = await auditConfig(scratch({ after }));
  const stack = await startStack({ after }, { config: { admin: ADMIN, audit, callers: freeCaller() } });
  const { gateway, simulator } = stack;
  const raw = (fields, options) => rawCall(gateway.address, QUERY.method, request, fields, options);
  const expected = { OK: 1 };
  await gateway.call(QUERY.method, QUERY.request);
  const { requests } = simulator.stats();

  /** Checks that the last call has been counted and logged with this code and reason. */
  async function isRecorded(name, reason) {
    expected[name] = (expected[name] ?? 0) + 1;
    await until(async () => isDeepStrictEqual(await codesOf(gateway), expected), `it counts as ${name}`);
    const lines = () => logged(gateway, 'call_refused');
    const total = Object.values(expected).reduce((sum, count) => sum + count) - 1;
    await until(() => lines().length === total, 'the line');
    const { code: logCode, reason: logReason, message } = lines().at(-1);
    assert.deepEqual([logCode, logReason], [name, reason]);
    assert.equal(/is not a .* message/.test(message), reason === 'INVALID_REQUEST', message);
  }

  it('because its message is larger than the limit is not an invalid request', async () => {
    const large = { ...QUERY.request, policy_id: 'x'.repeat(2 << 20) };
    assert.equal((await gateway.refusal(QUERY.method, large)).code, code.RESOURCE_EXHAUSTED);
    await isRecorded('CANCELLED', 'CANCELLED');
  });

  it('because its message is compressed is not an invalid request', async () => {
    assert.equal(await raw([['grpc-encoding', 'gzip']], { compressed: true }), 'answered');
    await isRecorded('CANCELLED', 'CANCELLED');
  });

  it('because gRPC refuses its metadata is not an invalid request', async () => {
    assert.equal(await raw([['X-A', 'a']]), 'answered');
    await isRecorded('CANCELLED', 'CANCELLED');
  });

  it('because its caller has left is not an invalid request', async () => {
    assert.equal(await raw([], { sends: 'reset' }), 'reset');
    await isRecorded('CANCELLED', 'CANCELLED');
  });

  it('because it has no message is an invalid request', async () => {
    assert.equal(await raw([], { sends: 'nothing' }), 'answered');
    await isRecorded('INVALID_ARGUMENT', 'INVALID_REQUEST');
  });

  it('sends nothing upstream, and the audit log has no decision about it', async () => {
    assert.equal(simulator.stats().requests, requests);
    const kinds = recordsOf(audit.file).map(({ kind }) => kind);
    assert.deepEqual(
      kinds.filter((kind) => kind === 'allow' || kind === 'deny'),
      ['allow'],
    );
  });
});
