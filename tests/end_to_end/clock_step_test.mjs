// Steps of the wall clock while calls are in flight do not change deadlines and durations.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Machine } from '../machine/machine.mjs';
import { prepareEventStack } from './event_stack.mjs';
import { QUERY, SUBMIT, deadline, failureOf } from './failures.mjs';
import { HANG_MS, auditConfig, scratch, startStack } from './harness.mjs';
import { recordsOf } from './log_lines.mjs';
import { until } from './processes.mjs';

const HOUR_MS = 3_600_000;
const HELD = { kind: 'slow', untilReleased: true };

describe('while the wall clock steps', { timeout: HANG_MS }, () => {
  for (const [direction, stepMs] of [
    ['forward', HOUR_MS],
    ['back', -HOUR_MS],
  ]) {
    it(`${direction}, a call keeps its deadline, and the audit log has its real duration`, async (t) => {
      const folder = scratch(t);
      const audit = await auditConfig(folder);
      const machine = new Machine(scratch(t), folder);
      t.after(() => machine.close());
      const { simulator, gateway } = await startStack(t, { config: { audit }, env: machine.env });
      simulator.addFaults([HELD]);

      // The clock steps while the call waits for its audit record: after the gateway has computed the deadline, and
      // before the gateway uses the deadline. This is the first call, so no record of another call waits.
      machine.hang({ match: 'audit.log' });
      const failure = failureOf(gateway, QUERY, deadline(3000));
      await machine.waitFor(({ waiting }) => waiting > 0, 'the record is on its way to the disk');
      machine.clockOffsetMs += stepMs;
      machine.release();
      assert.equal((await failure).reason, 'UPSTREAM_TIMEOUT');
      assert.equal((await simulator.waitFor({ held: 0 })).requests, 1);

      const of = (kind) => recordsOf(audit.file).filter((record) => record.kind === kind);
      await until(() => of('outcome').length === 1, 'its outcome');
      const [[allow], [outcome]] = [of('allow'), of('outcome')];
      assert.ok(outcome.duration_us > 0 && outcome.duration_us < HANG_MS * 1000);
      // Checks that the clock has really stepped.
      const [began, ended] = [allow, outcome].map(({ time }) => Date.parse(time));
      assert.ok(Math.sign(ended - began) === Math.sign(stepMs) && Math.abs(ended - began) > HANG_MS);
    });
  }
});

describe('a gateway whose clock was an hour ahead, and is right now', { timeout: HANG_MS }, () => {
  it('refuses submits without a timestamp, also after a restart, until its mark is deleted as the page states', async (t) => {
    const folder = scratch(t);
    const machine = new Machine(scratch(t), folder);
    t.after(() => machine.close());
    machine.clockOffsetMs += HOUR_MS;
    const stack = await prepareEventStack(t, { folder, env: machine.env });
    const { simulator } = stack;
    await stack.start();
    const submit = () => stack.gateway.call(SUBMIT.method, SUBMIT.request);
    // Upstream refuses a timestamp that is an hour ahead of its clock, and carries nothing out.
    const refused = await stack.gateway.refusal(SUBMIT.method, SUBMIT.request);
    assert.notEqual(refused.info.domain, 'stampgate', refused.message);

    machine.clockOffsetMs -= HOUR_MS;
    const isExhausted = async () => {
      const { code, reason, retryMs } = await failureOf(stack.gateway, SUBMIT);
      assert.deepEqual([code, reason], ['RESOURCE_EXHAUSTED', 'TIMESTAMPS_EXHAUSTED']);
      assert.ok(retryMs > HOUR_MS / 2, `${retryMs}`);
    };
    await isExhausted();
    await stack.restart();
    await isExhausted();
    // A caller that sets the timestamp itself is not affected.
    await stack.gateway.call(SUBMIT.method, { ...SUBMIT.request, timestamp_ms: Date.now() });

    await stack.gateway.stop();
    rmSync(join(folder, 'calls.db-timestamps'));
    const before = Date.now();
    await stack.start();
    assert.ok((await submit()).activity);
    const { timestampMs } = JSON.parse(simulator.requests().findLast(({ path }) => path === SUBMIT.path).body);
    // The first timestamps are 31 seconds ahead of the clock, so that a crash just before cannot have used them.
    assert.ok(Number(timestampMs) >= before + 30_000 && Number(timestampMs) < before + HANG_MS, timestampMs);
  });
});
