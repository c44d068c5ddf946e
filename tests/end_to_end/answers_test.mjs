// Unusual but complete responses of upstream: the caller gets the response, or an error that states the outcome.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, beforeEach, describe, it } from 'node:test';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { GENERAL_SUBMIT, QUERY, SUBMIT, failureOf } from './failures.mjs';
import { HANG_MS, auditConfig, scratch, startGateway, startStack } from './harness.mjs';
import { recordsOf } from './log_lines.mjs';
import { until } from './processes.mjs';
import { startRawServer } from './raw_server.mjs';

const MAX_ANSWER_BYTES = 4_128_768;
const LARGE = { '/padding': JSON.stringify('x'.repeat(MAX_ANSWER_BYTES)) };
const GENERAL_QUERY = {
  method: 'GeneralService/QueryOperation',
  request: { organization_id: ORGANIZATION, path: 'whoami' },
};

const audit = await auditConfig(scratch({ after }));
const { simulator, gateway } = await startStack(
  { after },
  { config: { audit, store: { sqlite: { folder: scratch({ after }) } } } },
);
beforeEach(() => simulator.reset());

const addLarge = () => simulator.addFaults([{ kind: 'mutate', set: LARGE }]);
const outcomes = () => recordsOf(audit.file).filter(({ kind }) => kind === 'outcome');

describe('a response that is larger than the default limit of gRPC clients', { timeout: HANG_MS }, () => {
  for (const sample of [SUBMIT, GENERAL_SUBMIT]) {
    it(`of ${sample.method}: the error reports that the call was carried out, and names the activity`, async () => {
      const before = outcomes().length;
      addLarge();
      const error = await failureOf(gateway, sample);
      assert.deepEqual([error.code, error.domain, error.reason], ['OUT_OF_RANGE', 'stampgate', 'ANSWER_TOO_LARGE']);
      assert.match(error.message, /^the call was carried out/);
      assert.equal(error.retryMs, undefined);
      const [[id, activity]] = [...simulator.service.state.activitiesById];
      const { answer_bytes, timestamp_ms, ...metadata } = error.metadata;
      assert.ok(Number(answer_bytes) > MAX_ANSWER_BYTES);
      assert.equal(timestamp_ms, JSON.parse(simulator.requests()[0].body).timestampMs);
      assert.deepEqual(metadata, {
        activity_id: id,
        activity_status: 'ACTIVITY_STATUS_COMPLETED',
        fingerprint: activity.fingerprint,
        max_answer_bytes: String(MAX_ANSWER_BYTES),
      });
      assert.equal(simulator.requests().length, 1);
      await until(() => outcomes().length > before, 'the outcome in the audit log');
      const { code, reason, activity_id } = outcomes().at(-1);
      assert.deepEqual([code, reason, activity_id], ['OUT_OF_RANGE', 'ANSWER_TOO_LARGE', id]);
    });
  }

  for (const sample of [QUERY, GENERAL_QUERY]) {
    it(`of ${sample.method}: the error reports that the response is too large`, async () => {
      addLarge();
      const error = await failureOf(gateway, sample);
      assert.deepEqual([error.code, error.domain, error.reason], ['OUT_OF_RANGE', 'stampgate', 'ANSWER_TOO_LARGE']);
      assert.deepEqual(Object.keys(error.metadata).sort(), ['answer_bytes', 'max_answer_bytes']);
      assert.equal(error.retryMs, undefined);
    });
  }

  it('completes the submit of its idempotency key: a repetition gets the same activity', async () => {
    const request = { ...SUBMIT.request, idempotency_key: randomUUID() };
    addLarge();
    const { metadata } = await failureOf(gateway, { ...SUBMIT, request });
    const { activity } = await gateway.call(SUBMIT.method, request);
    assert.equal(activity.id, metadata.activity_id);
    const [first, second] = simulator.requests().map(({ body }) => body);
    assert.equal(second, first);
  });

  it('is sent to a client with default limits if it just fits', async () => {
    simulator.addFaults([{ kind: 'mutate', set: { '/padding': JSON.stringify('x'.repeat(MAX_ANSWER_BYTES - 2000)) } }]);
    const { unrecognized } = await gateway.call(QUERY.method, QUERY.request);
    assert.equal(unrecognized['/padding'].length, MAX_ANSWER_BYTES - 2000 + 2);
  });
});

describe('a complete response', { timeout: HANG_MS }, () => {
  for (const status of [201, 202, 203, 206]) {
    it(`with HTTP ${status} is accepted`, async () => {
      simulator.addFaults([{ kind: 'mutate', status, times: 2 }]);
      const { activity } = await gateway.call(SUBMIT.method, SUBMIT.request);
      assert.equal(activity.status, 'ACTIVITY_STATUS_COMPLETED');
      assert.ok((await gateway.call(QUERY.method, QUERY.request)).policy);
    });
  }

  it('may have a member whose name is not valid Unicode: the object with this member is returned as text', async () => {
    const text = '{"policy":{"policyId":"p","\\ud800":[1]}}';
    simulator.addFaults([{ kind: 'status', status: 200, body: text }]);
    const { policy, unrecognized } = await gateway.call(QUERY.method, QUERY.request);
    assert.equal(policy.policy_id, 'p');
    assert.deepEqual(unrecognized, { '/policy': '{"policyId":"p","\\ud800":[1]}' });
  });
});

describe('HTTP 101 without any further bytes', { timeout: HANG_MS }, () => {
  it('ends the call without waiting for a timeout', async (t) => {
    const upstream = await startRawServer(t, (socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n'),
    );
    const direct = await startGateway(t, upstream);
    const submit = await failureOf(direct, SUBMIT, { deadlineMs: Infinity });
    assert.deepEqual([submit.code, submit.reason, submit.metadata.http_status], ['UNKNOWN', 'OUTCOME_UNKNOWN', '101']);
    const query = await failureOf(direct, QUERY, { deadlineMs: Infinity });
    assert.deepEqual([query.code, query.reason], ['INTERNAL', 'UPSTREAM_ANSWER_UNREADABLE']);
  });
});
