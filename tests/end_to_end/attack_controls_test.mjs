// Negative controls of attack_mixes_test: with the limits of memory at their maximum, kinds of attacks make the gateway
// use more memory than it may, and the judge reports this.
//
// With STAMPGATE_LONG=1 the test makes every kind that holds more than the account without limits, instead of one for each
// way to hold memory. STAMPGATE_STEPS=unreadBodies,unreadEvents makes these kinds.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { judge } from './attacks/judge.mjs';
import { alone } from './attacks/mix.mjs';
import { Stage, runRound } from './attacks/round.mjs';
import { HANG_MS } from './harness.mjs';
import { LONG, isSanitized } from './processes.mjs';

const MEBIBYTE = 1 << 20;
const TEBIBYTE = 2 ** 40;

/** The limits of memory at their maximum. */
const WITHOUT_LIMITS = {
  memory: {
    max_bytes: TEBIBYTE,
    max_bytes_per_identity: TEBIBYTE,
    max_bytes_per_connection: TEBIBYTE,
    max_unread_time: '10m',
  },
  webhooks: { max_bytes: 2 ** 30, min_bytes_per_second: 1 },
};

/** Unread answers, requests in part, events, and bodies of deliveries. */
const SOME = ['unreadLargeAnswers', 'halfRequestsOfFourIdentities', 'unreadLists', 'unfinishedBodiesOfManySources'];
const MORE = [
  'unreadSmallAnswers',
  'unreadAnswersOfFourCallers',
  'answersInSocket',
  'tooLargeAnswers',
  'unreadReflection',
  'unreadBodies',
  'unreadEvents',
  'halfRequests',
  'halfRequestsOfOneIdentity',
  'unfinishedBodies',
];

const wanted = process.env.STAMPGATE_STEPS?.split(',') ?? (LONG ? [...SOME, ...MORE] : SOME);
const skip = isSanitized() && "a sanitizer's build uses more memory";

const stage = skip ? undefined : await Stage.prepare({ after });

for (const kind of wanted) {
  test(`without limits, the judge reports ${kind}`, { timeout: 3 * HANG_MS, skip }, async (t) => {
    const [parts] = alone(kind);
    const observation = await runRound(t, stage, parts, { config: WITHOUT_LIMITS });
    const { restBytes, peakBytes } = observation;
    t.diagnostic(`${Math.round(restBytes / MEBIBYTE)} to ${Math.round(peakBytes / MEBIBYTE)} MiB resident`);
    // The bound of time is not what this test is about.
    const findings = judge(observation, () => Infinity);
    assert.ok(
      findings.some((finding) => finding.includes('were resident')),
      findings.join('; '),
    );
  });
}
