// Runs random sequences of faults on three gateways and three PostgreSQL servers while consumers of a shared
// subscription receive events from any gateway and settle them at any gateway. Afterwards a judge compares what they
// observed with the promises of SubscriptionService.
//
// With STAMPGATE_LONG=1 the test uses 100 rounds instead of 4. STAMPGATE_SEED=... chooses other sequences.
// STAMPGATE_ROUND=n runs only round n, and STAMPGATE_ROUND=n-m rounds n to m. STAMPGATE_STEPS=kill,seek uses only these
// kinds of steps.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HANG_MS } from './harness.mjs';
import { makeSchedule } from './history/schedule.mjs';
import { LONG } from './processes.mjs';
import { Random } from './random.mjs';
import { excerpt } from './subscription_history/excerpt.mjs';
import { judge } from './subscription_history/judge.mjs';
import { LONG_SHARED_STEPS, SHORT_SHARED_STEPS, someOf } from './subscription_history/schedule.mjs';
import { SharedRound } from './subscription_history/shared_round.mjs';

const STEPS = { ...LONG_SHARED_STEPS, ...SHORT_SHARED_STEPS };
const CHOSEN = process.env.STAMPGATE_STEPS?.split(',');
const ROUNDS = LONG ? 100 : 4;
/** Rounds mostly wait, so several run at the same time. */
const CONCURRENCY = 4;
const LONG_STEPS = 2;
const SHORT_STEPS = 3;
/** So many lines of each gateway's log are printed if a round does not end. */
const LOG_LINES = 20;
/** The maximum number of printed findings. One fault usually causes several. */
const MAX_FINDINGS = 20;

const [first, last = first] = (process.env.STAMPGATE_ROUND ?? `0-${ROUNDS - 1}`).split('-').map(Number);

/**
 * Draws `count` of the kinds for a round, like cards: the first rounds together have each kind, and so many later rounds
 * have each equally often. The order of the cards is random.
 */
function drawn(seed, kinds, number, count) {
  const card = (place) => {
    const deck = Math.floor(place / kinds.length);
    return someOf(new Random(`${seed} deck ${deck}`), kinds, kinds.length)[place % kinds.length];
  };
  return Array.from({ length: count }, (_, i) => card(number * count + i));
}

/** The kinds of steps of a round. */
function kindsOf(number, seed) {
  if (CHOSEN !== undefined) return drawn(seed, CHOSEN, number, LONG_STEPS + SHORT_STEPS);
  return [
    ...drawn(`${seed} long`, Object.keys(LONG_SHARED_STEPS), number, LONG_STEPS),
    ...drawn(`${seed} short`, Object.keys(SHORT_SHARED_STEPS), number, SHORT_STEPS),
  ];
}

describe('a shared subscription of three gateways', { concurrency: CONCURRENCY }, () => {
  for (let number = first; number <= last; ++number) {
    test(`keeps all its promises in round ${number}`, { timeout: 4 * HANG_MS }, async (t) => {
      const random = new Random(t);
      const kinds = kindsOf(number, random.seed);
      random.seed += ` shared round ${number}`;
      const schedule = makeSchedule(random, kinds, 0, STEPS);
      t.diagnostic(schedule.map(({ kind }) => kind).join(' '));
      const round = await SharedRound.make(t, random);
      const history = await round.run(schedule).catch((error) => {
        for (const line of round.stack.lastLines(LOG_LINES)) t.diagnostic(line);
        throw error;
      });
      const { steps } = history;
      const count = (type) => steps.filter((step) => step.type === type).length;
      t.diagnostic(`${count('delivery')} deliveries, ${count('settle')} settles, ${count('stream')} streams`);
      const findings = judge(history).slice(0, MAX_FINDINGS);
      if (findings.length > 0) for (const line of excerpt(history, findings)) t.diagnostic(line);
      assert.deepEqual(findings, []);
    });
  }
});
