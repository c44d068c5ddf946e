// The gateway sends a request again after faults that a repetition can mend, and only then: each point of a call, for
// queries and submits, with and without something by which upstream recognizes the repetition.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QUERY, SUBMIT, deadline, described, failureOf, outcomeUnknown } from './failures.mjs';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { HANG_MS, auditConfig, scratch, startStack } from './harness.mjs';
import { recordsOf } from './log_lines.mjs';

const timeout = HANG_MS;

/** The kinds of requests, and how the gateway may treat them: see retry_policy.h. */
const KINDS = [
  { name: 'a query', sample: QUERY, most: 3, column: 'query' },
  { name: 'a submit with an idempotency key', sample: SUBMIT, most: 2, column: 'fixed', keyed: true },
  { name: 'a submit with a timestamp', sample: SUBMIT, most: 2, column: 'fixed', timed: true },
  { name: 'a submit without either', sample: SUBMIT, most: 2, column: 'submit' },
];

/** The faults, and how many attempts the gateway makes if the fault continues. */
const FAULTS = [
  {
    name: 'a reset when the request head has arrived',
    fault: { kind: 'resetBeforeRead' },
    query: 3,
    fixed: 2,
    submit: 1,
  },
  { name: 'a lost response', fault: { kind: 'readAndClose' }, query: 3, fixed: 2, submit: 1 },
  { name: 'a truncated response', fault: { kind: 'truncated' }, query: 3, fixed: 2, submit: 1 },
  ...[502, 503, 504, 520, 529].map((status) => ({
    name: `HTTP ${status} of a proxy`,
    fault: { kind: 'status', status, apply: true },
    ...{ query: 3, fixed: 2, submit: 1 },
  })),
  { name: 'HTTP 500', fault: { kind: 'error', code: 'INTERNAL', apply: true }, query: 2, fixed: 1, submit: 1 },
  {
    name: 'a rate limit',
    fault: { kind: 'error', code: 'RESOURCE_EXHAUSTED', errorCode: 'RATE_LIMIT_EXCEEDED' },
    ...{ query: 3, fixed: 2, submit: 1 },
  },
  {
    name: 'an exhausted quota',
    fault: { kind: 'error', code: 'RESOURCE_EXHAUSTED', errorCode: 'SIGNING_QUOTA_EXCEEDED' },
    ...{ query: 1, fixed: 1, submit: 1 },
  },
  { name: 'HTTP 404', fault: { kind: 'error', code: 'NOT_FOUND' }, query: 1, fixed: 1, submit: 1 },
  { name: 'a page instead of JSON', fault: { kind: 'nonJson', apply: true }, query: 1, fixed: 1, submit: 1 },
];

let keys = 0;
function requestOf({ sample, keyed, timed }) {
  const request = structuredClone(sample.request);
  if (keyed) request.idempotency_key = `key-${(keys += 1)}`;
  if (timed) request.timestamp_ms = String(Date.now() - (keys += 1));
  return request;
}

/** A stack with retries and without the breaker, which these faults would open. */
async function startStackWith(t, config = {}) {
  const folder = scratch(t);
  return startStack(t, { config: { admission: { breaker: false }, store: { sqlite: { folder } }, ...config } });
}

/** Checks that all requests are equal in each byte of their bodies and stamps. */
function assertEqualRequests(requests) {
  const stampOf = ({ headers }) => headers.find(([name]) => name.toLowerCase() === 'x-stamp')?.[1];
  assert.equal(new Set(requests.map(stampOf)).size, 1);
  // The simulator has not read the body of a request that it has reset.
  const bodies = requests.map(({ body }) => body).filter((body) => body);
  assert.ok(new Set(bodies).size <= 1);
}

for (const { name, fault, ...attempts } of FAULTS) {
  // One gateway for each fault, because the budget allows ten retries in ten seconds.
  describe(name, { timeout }, () => {
    for (const kind of KINDS) {
      it(`that continues: ${kind.name} is sent ${attempts[kind.column]} times`, async (t) => {
        const { simulator, gateway } = await startStackWith(t);
        simulator.addFaults([{ ...fault, times: 'always' }]);
        const failure = await failureOf(gateway, { method: kind.sample.method, request: requestOf(kind) });
        const requests = simulator.requests();
        assert.equal(requests.length, attempts[kind.column]);
        assertEqualRequests(requests);
        assert.ok(simulator.service.state.activitiesById.size <= 1);
        const mayHaveActed = kind.sample === SUBMIT && !/limit|quota|404/.test(name);
        assert.equal(failure.reason === 'OUTCOME_UNKNOWN', mayHaveActed, failure.reason);
      });

      it(`that happens once: ${kind.name} ${attempts[kind.column] > 1 ? 'succeeds' : 'fails'}`, async (t) => {
        const { simulator, gateway } = await startStackWith(t);
        simulator.addFaults([fault]);
        const response = await gateway.call(kind.sample.method, requestOf(kind)).catch(described);
        assert.equal(simulator.requests().length, Math.min(attempts[kind.column], 2));
        assert.equal(response.reason === undefined, attempts[kind.column] > 1);
        assertEqualRequests(simulator.requests());
        assert.ok(simulator.service.state.activitiesById.size <= 1);
      });
    }
  });
}

describe('retries', { timeout }, () => {
  it('of a refused connection end with UPSTREAM_UNREACHABLE, for a submit too', async (t) => {
    const { simulator, gateway } = await startStackWith(t, { admin: ADMIN });
    await simulator.close();
    for (const sample of [QUERY, SUBMIT]) {
      const { code, reason } = await failureOf(gateway, sample);
      assert.deepEqual({ code, reason }, { code: 'UNAVAILABLE', reason: 'UPSTREAM_UNREACHABLE' });
    }
    const metrics = await metricsOf(gateway);
    assert.equal(metrics.get('stampgate_upstream_retries_total{cause="unreachable"}'), 2 + 1);
  });

  it('do not hide that an earlier attempt may have been carried out', async (t) => {
    const { simulator, gateway } = await startStackWith(t);
    simulator.addFaults([
      { kind: 'readAndClose' },
      { kind: 'error', code: 'RESOURCE_EXHAUSTED', errorCode: 'RATE_LIMIT_EXCEEDED' },
    ]);
    const timestamp_ms = String(Date.now());
    const failure = await failureOf(gateway, { ...SUBMIT, request: { ...SUBMIT.request, timestamp_ms } });
    assert.equal(failure.reason, 'OUTCOME_UNKNOWN');
    assert.equal(failure.metadata.timestamp_ms, timestamp_ms);
    assert.equal(failure.metadata.upstream_code, 'RATE_LIMIT_EXCEEDED');
    const { activity } = await gateway.call(SUBMIT.method, { ...SUBMIT.request, timestamp_ms });
    assert.equal(activity.fingerprint, failure.metadata.fingerprint);
    assert.equal(simulator.service.state.activitiesById.size, 1);
  });

  it('are counted in the audit log', async (t) => {
    const folder = scratch(t);
    const audit = await auditConfig(folder);
    const { simulator, gateway } = await startStackWith(t, { audit });
    simulator.addFaults([{ kind: 'status', status: 503, times: 2 }]);
    await gateway.call(QUERY.method, QUERY.request).catch(() => undefined);
    await gateway.call(QUERY.method, QUERY.request).catch(() => undefined);
    await gateway.stop();
    const outcomes = recordsOf(audit.file).filter(({ kind }) => kind === 'outcome');
    assert.deepEqual(
      outcomes.map(({ attempts }) => attempts),
      [3, undefined],
    );
  });

  it('end with the deadline of the call', async (t) => {
    const { simulator, gateway } = await startStackWith(t);
    simulator.addFaults([
      { kind: 'error', code: 'RESOURCE_EXHAUSTED', errorCode: 'RATE_LIMIT_EXCEEDED', headers: { 'Retry-After': '60' } },
    ]);
    const { reason, retryMs } = await failureOf(gateway, QUERY);
    assert.deepEqual({ reason, retryMs }, { reason: 'RATE_LIMIT_EXCEEDED', retryMs: 60_000 });
    assert.equal(simulator.requests().length, 1);
  });

  it('are at most ten in ten seconds', async (t) => {
    const { simulator, gateway } = await startStackWith(t, { admin: ADMIN });
    simulator.addFaults([{ kind: 'status', status: 503, times: 'always' }]);
    await Promise.all(Array.from({ length: 30 }, () => failureOf(gateway, QUERY)));
    const metrics = await metricsOf(gateway);
    const sent = metrics.get('stampgate_upstream_retries_total{cause="unavailable"}');
    assert.equal(simulator.requests().length, 30 + sent);
    assert.ok(metrics.get('stampgate_upstream_retries_withheld_total{cause="unavailable"}') > 0);
  });

  it('can be turned off', async (t) => {
    const { simulator, gateway } = await startStackWith(t, { admission: { retries: false, breaker: false } });
    simulator.addFaults([{ kind: 'status', status: 503 }]);
    assert.equal((await failureOf(gateway, QUERY)).reason, 'UPSTREAM_UNAVAILABLE');
    assert.equal(simulator.requests().length, 1);
  });
});

describe('the circuit breaker', { timeout }, () => {
  it('opens when upstream fails: calls then fail without a request', async (t) => {
    const { simulator, gateway } = await startStackWith(t, { admission: { retries: false }, admin: ADMIN });
    simulator.addFaults([{ kind: 'status', status: 503, times: 20 }]);
    for (let i = 0; i < 20; i += 1) await failureOf(gateway, QUERY);
    const { code, reason, retryMs } = await failureOf(gateway, QUERY);
    assert.deepEqual({ code, reason }, { code: 'UNAVAILABLE', reason: 'UPSTREAM_FAILING' });
    assert.ok(retryMs > 0 && retryMs <= 5000, `${retryMs}`);
    assert.equal(simulator.requests().length, 20);
    const metrics = await metricsOf(gateway);
    assert.equal(metrics.get('stampgate_upstream_breaker_open{lane="query"}'), 1);
    assert.equal(metrics.get('stampgate_upstream_breaker_open{lane="submit"}'), 0);
    await gateway.call(SUBMIT.method, SUBMIT.request);
    simulator.addFaults([{ kind: 'status', status: 520, times: 20 }]);
    for (let i = 0; i < 19; i += 1) await failureOf(gateway, SUBMIT);
    assert.equal((await failureOf(gateway, SUBMIT)).reason, 'UPSTREAM_FAILING');
    assert.equal(simulator.requests().length, 40);
  });

  // Each exchange is short. The second half of the calls waits for connections for longer than a slow exchange may take,
  // and is then cut off by its own deadlines.
  it('is not opened by calls whose deadlines pass soon after they got a connection', async (t) => {
    const config = { admission: { retries: false } };
    const { simulator, gateway } = await startStack(t, { config, upstream: { max_connections: 20 } });
    simulator.addFaults([{ kind: 'slow', untilReleased: true, times: 40 }]);
    const calls = Array.from({ length: 40 }, () =>
      gateway.call(QUERY.method, QUERY.request, deadline(12_000)).then(
        () => 'ok',
        (error) => described(error).reason,
      ),
    );
    await simulator.waitFor({ held: 20 });
    await new Promise((resolve) => setTimeout(resolve, 8_500));
    assert.equal(simulator.release(), 20);
    const ends = await Promise.all(calls);
    assert.equal(ends.filter((end) => end === 'ok').length, 20);
    assert.equal(ends.filter((end) => end === 'UPSTREAM_TIMEOUT').length, 20);
    await gateway.call(QUERY.method, QUERY.request);
  });

  it('is never opened by requests that upstream refuses', async (t) => {
    const { simulator, gateway } = await startStackWith(t, { admission: { retries: false } });
    simulator.addFaults([{ kind: 'error', code: 'PERMISSION_DENIED', times: 50 }]);
    for (let i = 0; i < 50; i += 1) assert.equal((await failureOf(gateway, QUERY)).domain, 'upstream');
    assert.equal(simulator.requests().length, 50);
  });
});
