// Steps of the wall clock in the midst of calls: deadlines and durations do not move with them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { QUERY, failureOf } from './failures.mjs';
import { HANG_MS, auditConfig, binary, scratch, startStack } from './harness.mjs';
import { until } from './processes.mjs';

const HOUR_SECONDS = 3600;
const HELD = { kind: 'slow', untilReleased: true };

/** A stack with an audit. The gateway's clock steps by so much during each call, and a little before and after it. */
async function startStepping(t, seconds) {
  const audit = await auditConfig(scratch(t));
  const env = {
    LD_PRELOAD: binary('tests/end_to_end/libstepping_clock.so'),
    STAMPGATE_CLOCK_STEP_SECONDS: String(seconds),
    // A sanitizer asks to be the first library, and need not be.
    ASAN_OPTIONS: [process.env.ASAN_OPTIONS, 'verify_asan_link_order=0'].filter(Boolean).join(':'),
  };
  return { audit, ...(await startStack(t, { config: { audit }, env })) };
}

const recordsOf = (file) => readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));

describe('while the wall clock steps', { timeout: HANG_MS }, () => {
  for (const [direction, seconds] of [['forward', HOUR_SECONDS], ['back', -HOUR_SECONDS]]) {
    it(`${direction}, a call has the time that its caller gave it, and the audit says how long it took`, async (t) => {
      const { simulator, gateway, audit } = await startStepping(t, seconds);
      assert.ok((await gateway.call(QUERY.method, QUERY.request)).policy);
      simulator.addFaults([HELD]);
      const options = { deadlineMs: Infinity, metadata: { 'grpc-timeout': '1000m' } };
      assert.equal((await failureOf(gateway, QUERY, options)).reason, 'UPSTREAM_TIMEOUT');
      assert.equal((await simulator.waitFor({ held: 0 })).requests, 2);

      const of = (kind) => recordsOf(audit.file).filter((record) => record.kind === kind);
      await until(() => of('outcome').length === 2, 'both outcomes');
      for (const { duration_us } of of('outcome')) assert.ok(duration_us > 0 && duration_us < HANG_MS * 1000);
      // The clock did step.
      const [first, second] = of('allow').map(({ time }) => Date.parse(time));
      assert.ok(Math.sign(second - first) === Math.sign(seconds) && Math.abs(second - first) > HANG_MS);
    });
  }
});
