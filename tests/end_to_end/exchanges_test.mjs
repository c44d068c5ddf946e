// Exchanges with upstream that last longer than their callers wait, or than the gateway does.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { QUERY, SUBMIT, failureOf, outcomeUnknown } from './failures.mjs';
import { HANG_MS, auditConfig, scratch, startStack } from './harness.mjs';
import { until } from './processes.mjs';

/** Upstream answers when the simulator releases the request. */
const HELD = { kind: 'slow', untilReleased: true, times: 'always' };

const recordsOf = (file) => readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
const countOf = (file, kind) => recordsOf(file).filter((record) => record.kind === kind).length;

describe('an exchange that exchange_timeout ends before its caller leaves', { timeout: HANG_MS }, () => {
  it('ends its call, and the audit gets its outcome', async (t) => {
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
