// Random schedules of faults, one after the other, over a gateway that everybody uses; and a judge of what all saw.
//
// STAMPGATE_LONG=1: 500 rounds in place of 10. STAMPGATE_SEED=... chooses other schedules; STAMPGATE_ROUND=n runs that
// round alone, STAMPGATE_ROUND=n-m these; STAMPGATE_STEPS=kill,clock those steps alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HANG_MS } from './harness.mjs';
import { judge } from './history/judge.mjs';
import { Round } from './history/round.mjs';
import { STEPS, makeSchedule } from './history/schedule.mjs';
import { LONG, isSanitized } from './processes.mjs';
import { Random } from './random.mjs';

/** Whether the gateway has a store of calls. */
const WITH_STORE = true;
const KINDS = process.env.STAMPGATE_STEPS?.split(',') ?? Object.keys(STEPS);
const ROUNDS = LONG ? 500 : isSanitized() ? 3 : 10;
const MORE_STEPS = 2;
/** A fault is mostly found more than once. */
const MAX_FINDINGS = 20;

const [first, last = first] = (process.env.STAMPGATE_ROUND ?? `0-${ROUNDS - 1}`).split('-').map(Number);

for (let number = first; number <= last; ++number) {
  test(`round ${number}: all promises are held`, { timeout: 4 * HANG_MS }, async (t) => {
    const random = new Random(t);
    random.seed += ` round ${number}`;
    const schedule = makeSchedule(random, KINDS, MORE_STEPS);
    t.diagnostic(schedule.map(({ kind }) => kind).join(' '));
    const round = await Round.make(t, random, { withStore: WITH_STORE });
    const history = await round.run(schedule);
    const { log, attempts, requests } = history;
    t.diagnostic(`${log.length} events, ${attempts.length} calls, ${requests.length} requests`);
    assert.deepEqual(judge(history).slice(0, MAX_FINDINGS), []);
  });
}
