// Runs random sequences of faults while consumers of a shared subscription receive and settle events. Afterwards a judge
// compares what they observed with the promises of SubscriptionService.
//
// With STAMPGATE_LONG=1 the test uses 500 rounds instead of 12. STAMPGATE_SEED=... chooses other sequences.
// STAMPGATE_ROUND=n runs only round n, and STAMPGATE_ROUND=n-m rounds n to m. STAMPGATE_STEPS=kill,seek uses only these
// kinds of steps.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HANG_MS } from './harness.mjs';
import { makeSchedule } from './history/schedule.mjs';
import { LONG, isSanitized } from './processes.mjs';
import { Random } from './random.mjs';
import { excerpt } from './subscription_history/excerpt.mjs';
import { judge } from './subscription_history/judge.mjs';
import { FileRound } from './subscription_history/file_round.mjs';
import { STEPS, someOf } from './subscription_history/schedule.mjs';

const KINDS = process.env.STAMPGATE_STEPS?.split(',') ?? Object.keys(STEPS);
const ROUNDS = LONG ? 500 : isSanitized() ? 5 : 12;
/** Rounds mostly wait, so several run at the same time. */
const CONCURRENCY = 4;
const STEPS_OF_ROUND = 7;
/** The maximum number of printed findings. One fault usually causes several. */
const MAX_FINDINGS = 20;

const [first, last = first] = (process.env.STAMPGATE_ROUND ?? `0-${ROUNDS - 1}`).split('-').map(Number);

describe('a shared subscription', { concurrency: CONCURRENCY }, () => {
  for (let number = first; number <= last; ++number) {
    test(`keeps all its promises in round ${number}`, { timeout: 2 * HANG_MS }, async (t) => {
      const random = new Random(t);
      random.seed += ` round ${number}`;
      const schedule = makeSchedule(random, someOf(random, KINDS, STEPS_OF_ROUND), 1, STEPS);
      const round = await FileRound.make(t, random);
      const history = await round.run(schedule);
      const { steps } = history;
      const count = (type) => steps.filter((step) => step.type === type).length;
      t.diagnostic(schedule.map(({ kind }) => kind).join(' '));
      t.diagnostic(`${count('delivery')} deliveries, ${count('settle')} settles, ${count('stream')} streams`);
      const findings = judge(history).slice(0, MAX_FINDINGS);
      if (findings.length > 0) for (const line of excerpt(history, findings)) t.diagnostic(line);
      assert.deepEqual(findings, []);
    });
  }
});
