// Negative controls of postgresql_subscription_history_test: each test takes one protection out of the store, and then
// the judge must find the promise that this protection keeps, within a few rounds. The gateways are the real ones.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HANG_MS } from './harness.mjs';
import { makeSchedule } from './history/schedule.mjs';
import { Random } from './random.mjs';
import { alter } from './stored_functions.mjs';
import { excerpt } from './subscription_history/excerpt.mjs';
import { judge } from './subscription_history/judge.mjs';
import { LONG_SHARED_STEPS, SHORT_SHARED_STEPS } from './subscription_history/schedule.mjs';
import { SharedRound } from './subscription_history/shared_round.mjs';

const STEPS = { ...LONG_SHARED_STEPS, ...SHORT_SHARED_STEPS };
const ROUNDS = 8;
const TIMEOUT = { timeout: ROUNDS * 2 * HANG_MS };

const SETTLED_AGAIN = /followed after delivery \d+ was settled as DONE$|is lost: nobody settled/;

/** @type {Record<string, [string | RegExp, string][]>} */
const WITHOUT_NOTIFY = { wake_gateways: [[/SELECT pg_notify\(.*\)/, 'SELECT']] };

/**
 * What the store does wrong, the kinds of steps that make it visible, and what the judge must find.
 * @type {Record<string, {spoils: Record<string, [string | RegExp, string][]>, kinds: string[], finds: RegExp}>}
 */
const FAULTS = {
  // As if its clock were wrong, it now and then takes the partitions of a gateway that renews its hold, which learns of
  // it up to a second later.
  'acknowledges a change of a gateway that does not hold the partition any more': {
    spoils: {
      renew_hold: [
        ['mine.since_us <= now_us - lasts_us', 'true'],
        [/h\.renewed_us <= now_us - lasts_us(?=\s+FOR UPDATE)/, '(cardinality(h.partitions) > 0 AND random() < 0.4)'],
      ],
      change_subscription: [['RETURN false;', 'RETURN true;']],
      ...WITHOUT_NOTIFY,
    },
    kinds: ['passTime', 'passTime', 'cancel', 'passTime'],
    finds: SETTLED_AGAIN,
  },
  'answers a settle that no holder has carried out': {
    spoils: {
      ask_holder: [
        ['asker, asked_us, request)', 'asker, asked_us, request, answer)'],
        ['now_us, new_request)', "now_us, new_request, ''::bytea)"],
      ],
    },
    kinds: ['passTime', 'passTime', 'crash'],
    finds: SETTLED_AGAIN,
  },
  'gives each partition to every gateway': {
    spoils: {
      renew_hold: [['held := mine.partitions;', 'held := ARRAY(SELECT generate_series(1::bigint, 16));']],
      change_subscription: [['OR NOT (parts || partitions_of || partitions_of_keys) <@ mine.partitions', '']],
    },
    kinds: ['passTime', 'cancel'],
    finds: /of its key|held the earlier event|it is not the first one/,
  },
  'lets a gateway send at once what a lost one has sent': {
    spoils: { renew_hold: [['each, now_us + settle_within_us', 'each, now_us']] },
    kinds: ['kill', 'kill', 'kill', 'kill'],
    finds: /the time after the restart was not over/,
  },
};

/** Runs a round on a spoilt store. Resolves to what the judge finds in it. */
async function findingsOf(t, seed, spoils, kinds) {
  const random = new Random(t);
  random.seed += ` ${seed}`;
  const spoil = async ({ stack }) => {
    for (const [name, replacements] of Object.entries(spoils)) await alter(stack.cluster.primary, name, replacements);
  };
  const round = await SharedRound.make(t, random, { spoil });
  const history = await round.run(makeSchedule(random, kinds, 1, STEPS));
  return { history, findings: judge(history) };
}

describe('the judge finds a store that', { concurrency: 3 }, () => {
  for (const [name, { spoils, kinds, finds }] of Object.entries(FAULTS)) {
    test(name, TIMEOUT, async (t) => {
      const found = [];
      let number = 0;
      for (; number < ROUNDS && !found.some((one) => finds.test(one)); ++number) {
        found.push(...(await findingsOf(t, `control ${number}`, spoils, kinds)).findings);
      }
      t.diagnostic(`round ${number}: ${found.slice(0, 3).join('; ')}`);
      assert.ok(
        found.some((one) => finds.test(one)),
        `found only: ${found.slice(0, 20).join('; ')}`,
      );
    });
  }
});

test('gateways that nobody wakes keep all promises, because each looks once a second', TIMEOUT, async (t) => {
  const kinds = ['kill', 'cancel', 'passTime', 'retryParked'];
  const { history, findings } = await findingsOf(t, 'without NOTIFY', WITHOUT_NOTIFY, kinds);
  if (findings.length > 0) for (const line of excerpt(history, findings)) t.diagnostic(line);
  assert.deepEqual(findings, []);
});
