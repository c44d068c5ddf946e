// Shows that the judge of subscription_history_test finds faults of a gateway: it judges rounds with layers between the
// consumers and the gateway that break promises. Each fault must be found within a few rounds.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HANG_MS } from './harness.mjs';
import { makeSchedule } from './history/schedule.mjs';
import { Random } from './random.mjs';
import { FAULTY_LAYERS } from './subscription_history/faulty_layers.mjs';
import { judge } from './subscription_history/judge.mjs';
import { FileRound } from './subscription_history/file_round.mjs';
import { STEPS } from './subscription_history/schedule.mjs';

const ROUNDS = 5;
/** Steps that make the faults visible. */
const KINDS = ['kill', 'powerCut', 'passTime', 'crash'];

/** For each layer, what the judge must find. */
const EXPECTED = {
  'answers a settle before it is durable': /followed after delivery \d+ was settled as DONE$/,
  'has no order by key': /of its key|held the earlier event/,
  'counts deliveries in memory only': /followed after delivery \d+$/,
  'drops parked events': /was parked, and the list|is lost/,
  'accepts an earlier token': /although it was not the last one/,
};

describe('the judge finds a gateway that', { concurrency: 3 }, () => {
  for (const [name, make] of Object.entries(FAULTY_LAYERS)) {
    test(name, { timeout: ROUNDS * HANG_MS }, async (t) => {
      const found = [];
      let number = 0;
      for (; number < ROUNDS && !found.some((one) => EXPECTED[name].test(one)); ++number) {
        const random = new Random(t);
        random.seed += ` control ${number}`;
        const round = await FileRound.make(t, random, make());
        found.push(...judge(await round.run(makeSchedule(random, KINDS, 1, STEPS))));
      }
      t.diagnostic(`round ${number}: ${found.slice(0, 3).join('; ')}`);
      assert.ok(
        found.some((one) => EXPECTED[name].test(one)),
        `found only: ${found.join('; ')}`,
      );
    });
  }
});
