// Tests the timestampMs of submits. Equal calls get different timestamps, so that each creates an activity. A repeated
// call with the same timestampMs gets the activity of the first call.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { code } from '../clients/gateway.mjs';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { HANG_MS, startGateway, startStack } from './harness.mjs';

const METHOD = 'OrganizationService/UpdateOrganizationName';
const MAX_AHEAD_MS = 1_000;

const requestOf = (organization_name, timestamp_ms) => ({
  organization_id: ORGANIZATION,
  parameters: { organization_name },
  ...(timestamp_ms !== undefined && { timestamp_ms: String(timestamp_ms) }),
});

const { simulator, gateway } = await startStack({ after });

/**
 * A gateway that is one of a hundred replicas. It has ten timestamps for each second, so few that a test on any machine
 * can use them up.
 */
const small = await startGateway({ after }, simulator, { replica: { index: 7, count: 100 } });

beforeEach(() => simulator.clearRequests());

const sentTimestamps = () => simulator.requests().map(({ body }) => Number(JSON.parse(body).timestampMs));

/**
 * Waits until the gateway's timestamps are no longer ahead of its clock. After a start, a gateway chooses timestamps a
 * second ahead of its clock, so that they are later than all timestamps before a restart.
 */
async function hasCaughtUp(which) {
  for (let i = 0; ; i += 1) {
    simulator.clearRequests();
    await which.call(METHOD, requestOf(`catch up ${i}`)).catch(ifNotExhausted);
    const [timestampMs] = sentTimestamps();
    if (timestampMs <= Date.now()) return simulator.clearRequests();
  }
}

function ifNotExhausted(error) {
  if (error.info?.reason !== 'TIMESTAMPS_EXHAUSTED') throw error;
}

before(() => hasCaughtUp(gateway));

test('300 equal concurrent calls create 300 activities, with timestamps at most a second ahead', async () => {
  const started = Date.now();
  const calls = await Promise.all(
    Array.from({ length: 300 }, async () => {
      const { activity } = await gateway.call(METHOD, requestOf('equal'));
      const { timestampMs } = JSON.parse(activity.votes[0].message);
      return { id: activity.id, timestampMs: Number(timestampMs), at: Date.now() };
    }),
  );
  assert.equal(new Set(calls.map(({ id }) => id)).size, 300);
  assert.equal(new Set(calls.map(({ timestampMs }) => timestampMs)).size, 300);
  for (const { timestampMs, at } of calls) {
    assert.ok(timestampMs >= started, `${timestampMs} is before the call, ${started}`);
    assert.ok(timestampMs <= at + MAX_AHEAD_MS, `${timestampMs} is too far ahead of ${at}`);
  }
  assert.deepEqual(sentTimestamps().sort(), calls.map(({ timestampMs }) => timestampMs).sort());
});

test('different calls may have the same timestamp', async () => {
  await Promise.all(Array.from({ length: 50 }, (_, i) => gateway.call(METHOD, requestOf(`differs ${i}`))));
  for (const timestampMs of sentTimestamps()) assert.ok(timestampMs <= Date.now());
});

test("with the caller's timestamp, a repeated call sends the same bytes and returns the same activity", async () => {
  const request = requestOf('repeated', Date.now() - 60_000);
  const first = await gateway.call(METHOD, request);
  const second = await gateway.call(METHOD, request);
  assert.deepEqual(second, first);
  const [one, other] = simulator.requests();
  assert.equal(other.body, one.body);
  assert.equal(JSON.parse(one.body).timestampMs, request.timestamp_ms);
});

for (const timestampMs of ['0', '9007199254740993', '18446744073709551615']) {
  test(`the gateway sends the caller's timestamp unchanged, and upstream decides about it: ${timestampMs}`, async () => {
    const error = await gateway.refusal(METHOD, requestOf('n', timestampMs));
    assert.equal(JSON.parse(simulator.requests()[0].body).timestampMs, timestampMs);
    assert.equal(error.code, code.INVALID_ARGUMENT);
    assert.equal(error.info.domain, 'upstream');
    assert.deepEqual(
      error.badRequest.field_violations.map(({ field }) => field),
      ['timestampMs'],
    );
  });
}

test('replicas choose from disjoint sets of timestamps', async (t) => {
  const replicas = await Promise.all(
    [0, 1, 2].map((index) => startGateway(t, simulator, { replica: { index, count: 3 } })),
  );
  await Promise.all(replicas.map((replica) => replica.call(METHOD, requestOf('replica'))));
  for (const replica of replicas) await hasCaughtUp(replica);
  const calls = replicas.map((replica, index) =>
    Array.from({ length: 50 }, async () => {
      const { activity } = await replica.call(METHOD, requestOf('replica'));
      assert.equal(Number(JSON.parse(activity.votes[0].message).timestampMs) % 3, index);
      return activity.id;
    }),
  );
  assert.equal(new Set(await Promise.all(calls.flat())).size, 150);
});

describe('equal concurrent calls beyond the available timestamps', () => {
  const VALUES = 10;

  before(() => hasCaughtUp(small));

  test('are refused with RetryInfo, and nothing is sent', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 30 * VALUES }, () => small.call(METHOD, requestOf('many')).catch((error) => error)),
    );
    const refused = outcomes.filter((outcome) => outcome instanceof Error);
    const served = outcomes.filter((outcome) => !(outcome instanceof Error));
    assert.ok(served.length >= VALUES, `only ${served.length} were served`);
    assert.ok(refused.length > 0, 'none was refused');
    for (const error of refused) {
      assert.equal(error.code, code.RESOURCE_EXHAUSTED);
      assert.deepEqual([error.info.domain, error.info.reason], ['stampgate', 'TIMESTAMPS_EXHAUSTED']);
      const { seconds = 0, nanos } = error.retryInfo.retry_delay;
      // A new timestamp becomes available every 100 ms.
      const delayNs = Number(seconds) * 1e9 + nanos;
      assert.ok(delayNs > 0 && delayNs <= 100e6, `a delay of ${delayNs} ns is not true`);
    }
    assert.equal(simulator.stats().requests, served.length);
    assert.equal(new Set(sentTimestamps()).size, served.length);
  });

  test('do not affect a different call', async () => {
    await small.call(METHOD, requestOf('another'));
    assert.equal(sentTimestamps()[0] % 100, 7);
  });

  test('are carried out after the clock has advanced', { timeout: HANG_MS }, async () => {
    for (let served = 0; served < 3;) {
      served += (await small.call(METHOD, requestOf('many')).then(() => 1, ifNotExhausted)) ?? 0;
    }
  });
});

test('the gateway does not choose a timestamp that a caller has set', { timeout: HANG_MS }, async (t) => {
  // This replica has one timestamp in each second, so the test knows which one it would choose next.
  const single = await startGateway(t, simulator, { replica: { index: 0, count: 1000 } });
  await hasCaughtUp(single);
  const next = Math.ceil((Date.now() + 1) / 1000) * 1000;
  await single.call(METHOD, requestOf('set by a caller', next));
  simulator.clearRequests();
  while (sentTimestamps().length === 0) await single.call(METHOD, requestOf('set by a caller')).catch(ifNotExhausted);
  assert.deepEqual(sentTimestamps(), [next + 1000]);
});
