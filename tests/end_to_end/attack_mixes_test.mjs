// Random mixes of attacks by callers, strangers and senders at the same time, each on a gateway of its own that runs in a
// memory control group. The gateway is never killed, its resident memory stays within the account and a fixed base, and
// honest callers and senders are served.
//
// The test has 10 mixes, which together have every kind of attack. In them, 95 % of the honest calls and deliveries must
// succeed. With STAMPGATE_LONG=1 it has 200 mixes, in which they must also succeed within twice the p99 that they have
// without attackers: a machine that runs other tests too cannot promise such a time. Afterwards it makes each kind alone,
// and prints how much memory each kind has added.
//
// STAMPGATE_SEED=... chooses other mixes. STAMPGATE_ROUND=n runs only mix n, and STAMPGATE_ROUND=n-m only mixes n to m.
// STAMPGATE_STEPS=unreadBodies,pings makes only these kinds in them, or alone.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { reasonWithoutControlGroup } from './attacks/control_group.mjs';
import { Cost, tableOf } from './attacks/costs.mjs';
import { CONTROL_GROUP_BYTES, judge, quantile, twiceQuiet } from './attacks/judge.mjs';
import { KINDS } from './attacks/kinds.mjs';
import { alone, mixOf } from './attacks/mix.mjs';
import { Stage, runRound } from './attacks/round.mjs';
import { HANG_MS } from './harness.mjs';
import { LONG, isSanitized } from './processes.mjs';
import { seedOf } from './random.mjs';

const MEBIBYTE = 1 << 20;
const timeout = 3 * HANG_MS;
const wanted = process.env.STAMPGATE_STEPS?.split(',') ?? Object.keys(KINDS);
const [first, last = first] = (process.env.STAMPGATE_ROUND ?? `0-${LONG ? 199 : 9}`).split('-').map(Number);
/** The suite promises no times: any answer before the deadline of a call counts. */
const boundMs = LONG ? twiceQuiet : () => HANG_MS;
const skip = isSanitized() && "a sanitizer's build uses more memory";
const withoutGroup = await reasonWithoutControlGroup();

const stage = skip ? undefined : await Stage.prepare({ after });

/** The number of answered calls, their p50 and p99, and the failures. */
const figuresOf = ({ answeredMs, failed }) =>
  `${answeredMs.length} in ${quantile(answeredMs, 0.5)} to ${quantile(answeredMs, 0.99)} ms, failed: ${JSON.stringify(failed)}`;

/** Runs a round in a control group, and prints what it has observed. */
async function observe(t, parts) {
  const observation = await runRound(t, stage, parts, withoutGroup ? {} : { limitBytes: CONTROL_GROUP_BYTES });
  const { restBytes, peakBytes, groupBytes, honest, seconds, unbegun } = observation;
  const [from, to, all] = [restBytes, peakBytes, groupBytes].map((bytes) => bytes && Math.round(bytes / MEBIBYTE));
  t.diagnostic(`${from} to ${to} MiB resident, the group ${all ?? 'unknown'} MiB, ${seconds.toFixed(1)} s`);
  if (unbegun.length > 0) t.diagnostic(`not all of these began: ${unbegun.join(' ')}`);
  for (const [party, { quiet, attack }] of Object.entries(honest)) {
    t.diagnostic(`${party}: ${figuresOf(quiet)}; during the attack: ${figuresOf(attack)}`);
  }
  return observation;
}

test('the gateways run in a memory control group of 384 MiB', { skip: skip || withoutGroup }, () => {});

for (let number = first; number <= last; ++number) {
  test(`mix ${number}: the gateway withstands it`, { timeout, skip }, async (t) => {
    const parts = mixOf(seedOf(t), number).filter(({ kind }) => wanted.includes(kind));
    t.diagnostic(parts.map(({ kind, party }) => `${kind} (${party})`).join(' '));
    assert.deepEqual(judge(await observe(t, parts), boundMs), []);
  });
}

const withoutKinds = (!LONG && 'without STAMPGATE_LONG=1') || (process.env.STAMPGATE_ROUND && 'with STAMPGATE_ROUND');

describe('each kind alone', { skip: skip || withoutKinds }, () => {
  const costs = [];
  after(() => console.log(tableOf(costs)));

  for (const kind of wanted) {
    for (const parts of alone(kind)) {
      const [{ party }] = parts;
      test(`${kind} (${party}): the gateway withstands it`, { timeout }, async (t) => {
        const observation = await observe(t, parts);
        costs.push(new Cost(kind, party, observation));
        assert.deepEqual(judge(observation, boundMs), []);
      });
    }
  }
});
