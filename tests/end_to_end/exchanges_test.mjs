// Tests requests to upstream that last longer than their callers wait, or longer than exchange_timeout.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ADMIN, metricsOf, statusOf } from './admin_port.mjs';
import { deliver } from './event_stack.mjs';
import { NO_CONNECTION, QUERY, SUBMIT, deadline, failureOf, outcomeUnknown, start } from './failures.mjs';
import { HANG_MS, auditConfig, scratch, startStack } from './harness.mjs';
import { recordsOf } from './log_lines.mjs';
import { until } from './processes.mjs';

/** A fault with which upstream holds requests until the test releases them. */
const HELD = { kind: 'slow', untilReleased: true, times: 'always' };

const countOf = (file, kind) => recordsOf(file).filter((record) => record.kind === kind).length;

describe('a request to upstream that exchange_timeout ends before its caller leaves', { timeout: HANG_MS }, () => {
  it('ends its call, and the audit log gets the outcome', async (t) => {
    const audit = await auditConfig(scratch(t));
    const { simulator, gateway } = await startStack(t, { config: { audit }, upstream: { exchange_timeout: '1s' } });
    simulator.addFaults([HELD]);
    const CALLS = 8;
    const options = { deadlineMs: 20_000 };
    await Promise.all([
      ...Array.from({ length: CALLS }, async () => {
        outcomeUnknown(await failureOf(gateway, SUBMIT, options), 'DEADLINE_EXCEEDED');
      }),
      ...Array.from({ length: CALLS }, async () => {
        assert.equal((await failureOf(gateway, QUERY, options)).reason, 'UPSTREAM_TIMEOUT');
      }),
    ]);
    await until(() => countOf(audit.file, 'outcome') === 2 * CALLS, 'an outcome of every allow');
    await gateway.stop();
    const records = recordsOf(audit.file);
    const seqs = records.filter(({ kind }) => kind === 'allow').map(({ seq }) => seq);
    const outcomes = records.filter(({ kind }) => kind === 'outcome');
    assert.deepEqual(outcomes.map(({ allow }) => allow).sort(), seqs.sort());
    const reasons = outcomes.map(({ code, reason }) => `${code} ${reason}`).sort();
    assert.deepEqual(reasons, [
      ...Array(CALLS).fill('DEADLINE_EXCEEDED OUTCOME_UNKNOWN'),
      ...Array(CALLS).fill('DEADLINE_EXCEEDED UPSTREAM_TIMEOUT'),
    ]);
  });
});

describe('submits that upstream never answers', { timeout: HANG_MS }, () => {
  const KEY_SET_PATH = '/public/v1/discovery/webhooks/jwks';
  const UPSTREAM = { max_connections: 4, max_detached: 3 };

  it('block neither queries nor key sets nor probes; further submits wait and are not sent', async (t) => {
    const audit = await auditConfig(scratch(t));
    const config = { audit, admin: ADMIN };
    const { simulator, gateway } = await startStack(t, { events: true, config, upstream: UPSTREAM });
    const detached = async () => (await metricsOf(gateway)).get('stampgate_detached_exchanges');
    const oldestAge = async () => (await metricsOf(gateway)).get('stampgate_detached_exchange_oldest_age_seconds');
    const seen = (path) => simulator.requests().filter((request) => request.path === path).length;
    assert.deepEqual([await detached(), await oldestAge()], [0, 0]);

    simulator.addFaults([{ ...HELD, match: { path: SUBMIT.path } }]);
    const begin = async (count) => {
      const { held } = simulator.stats();
      const calls = Array.from({ length: count }, () => start(gateway, SUBMIT));
      await simulator.waitFor({ held: held + count });
      return calls;
    };
    for (const call of await begin(2)) call.cancel();
    await until(async () => (await detached()) === 2, 'two are detached');
    // Upstream now holds two submits whose callers have left. The next submits use all connections.
    const attached = await begin(UPSTREAM.max_connections);
    attached.pop().cancel();
    await until(async () => (await detached()) === UPSTREAM.max_detached, 'max_detached submits are detached');
    assert.ok((await oldestAge()) > 0);

    const waiting = start(gateway, SUBMIT);
    assert.deepEqual(await failureOf(gateway, SUBMIT, deadline(2000)), NO_CONNECTION);
    assert.ok((await gateway.call(QUERY.method, QUERY.request)).policy);
    await gateway.call('WebhookService/GetWebhookKeySet', {});
    const fetches = seen(KEY_SET_PATH);
    simulator.webhooks.keys.add();
    assert.equal((await deliver(simulator)).status, 200);
    assert.ok(seen(KEY_SET_PATH) > fetches, 'the key set was fetched');
    assert.equal(await statusOf(gateway.adminUrl, '/readyz'), 200);
    assert.equal(seen(SUBMIT.path), 2 + UPSTREAM.max_connections);

    simulator.clearFaults();
    assert.equal(simulator.release(), 2 + UPSTREAM.max_connections);
    for (const call of [...attached, waiting]) assert.ok((await call.ended).activity);
    assert.ok((await gateway.call(SUBMIT.method, SUBMIT.request)).activity);
    await until(() => countOf(audit.file, 'outcome') === countOf(audit.file, 'allow'), 'an outcome of every allow');
    const ended = recordsOf(audit.file).filter(({ kind }) => kind === 'outcome');
    assert.deepEqual(
      ended.filter(({ code }) => code !== 'OK').map(({ reason }) => reason),
      ['UPSTREAM_BUSY'],
    );
    assert.deepEqual([await detached(), await oldestAge()], [0, 0]);
  });
});
