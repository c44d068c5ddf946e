// Runs random sequences of faults while callers, senders and subscribers use the gateway. Afterwards a judge checks the
// records of the callers, senders and subscribers.
//
// With STAMPGATE_LONG=1 the test uses 500 rounds instead of 6. STAMPGATE_SEED=... chooses other sequences.
// STAMPGATE_ROUND=n runs only round n, and STAMPGATE_ROUND=n-m rounds n to m. STAMPGATE_STEPS=kill,clock uses only
// these kinds of steps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HANG_MS } from './harness.mjs';
import { judge } from './history/judge.mjs';
import { Round } from './history/round.mjs';
import { STEPS, makeSchedule } from './history/schedule.mjs';
import { LONG, isSanitized } from './processes.mjs';
import { Random } from './random.mjs';

/** Whether the gateway has a call store. */
const WITH_STORE = true;
const KINDS = process.env.STAMPGATE_STEPS?.split(',') ?? Object.keys(STEPS);
const ROUNDS = LONG ? 500 : isSanitized() ? 3 : 6;
const MORE_STEPS = 2;
/** The maximum number of printed findings. One fault usually causes several. */
const MAX_FINDINGS = 20;

const [first, last = first] = (process.env.STAMPGATE_ROUND ?? `0-${ROUNDS - 1}`).split('-').map(Number);

for (let number = first; number <= last; ++number) {
  test(`round ${number}: the gateway keeps all its promises`, { timeout: 4 * HANG_MS }, async (t) => {
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
