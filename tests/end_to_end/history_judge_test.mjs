// Tests the judge of histories: it finds every kind of fault in made-up histories.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { judge } from './history/judge.mjs';

const event = (number) => ({ eventId: `e${number}`, content: `c${number}` });
const log = [event(1), event(2), event(3)];
const attempt = (request, kind, more) => ({
  ...{ request, kind, outcome: 'ok', code: 'OK', activityId: `a-${request}`, from: 0, until: 9, behindMs: 0 },
  ...more,
});
const seen = (number, request, more) => ({ number, request, bodySha256: `s-${request}`, accepted: true, ...more });

const exhausted = { outcome: 'refused', reason: 'TIMESTAMPS_EXHAUSTED' };

/** A history without a fault. */
const sound = () => ({
  sent: ['e1', 'e2', 'e3', 'e4'],
  acknowledged: ['e1', 'e3'],
  log: [...log],
  subscribers: [{ name: 'A', events: [...log], faults: [] }],
  attempts: [attempt('r1', 'keyed'), attempt('r2', 'timestamped'), attempt('r3', 'plain'), attempt('r4', 'query')],
  requests: [seen(1, 'r1'), seen(2, 'r2'), seen(3, 'r3')],
  audit: [
    { seq: 1, kind: 'start', closed: 0 },
    { seq: 2, kind: 'allow', method: 'M', body_sha256: 's-r1' },
    { seq: 3, kind: 'outcome', allow: 2 },
    { seq: 4, kind: 'allow', method: 'M', body_sha256: 's-r2' },
    { seq: 5, kind: 'allow', method: 'M', body_sha256: 's-r3' },
    { seq: 6, kind: 'outcome', allow: 5 },
    { seq: 7, kind: 'outcome', allow: 4 },
    { seq: 8, kind: 'stop' },
  ],
  verification: { status: 0, text: 'ok' },
  faults: [],
});

/** The faults that the judge finds after `change` was applied to the sound history. */
function findings(change) {
  const history = sound();
  change(history);
  return judge(history);
}

test('the judge finds no fault in a sound history', () => {
  assert.deepEqual(judge(sound()), []);
});

describe('the judge finds:', () => {
  const A = (history) => history.subscribers[0];
  const cases = {
    'an acknowledged event that the log has lost': [
      (h) => h.acknowledged.push('e4'),
      ['event e4 was acknowledged and is not in the log'],
    ],
    'an event that is in the log twice': [
      (h) => {
        h.log.push(event(1));
        A(h).events.push(event(1));
      },
      ['event e1 is in the log 2 times', 'subscriber A got event e1 again at position 4'],
    ],
    'an event that nobody sent': [(h) => h.sent.splice(1, 1), ['event e2 is in the log and nobody sent it']],
    'a position with two contents': [
      (h) => (A(h).events[1] = { eventId: 'e2', content: 'other' }),
      ['position 2 was seen with two contents by subscriber A'],
    ],
    'a position with two events': [
      (h) => (A(h).events[1] = event(4)),
      ['position 2 is event e2 in the log, and subscriber A got event e4'],
    ],
    'an event that a subscriber saw and the log lost': [
      (h) => A(h).events.push(event(4)),
      ['subscriber A got event e4 at position 4, which the log does not have'],
    ],
    'a gap in what a subscriber got': [
      (h) => A(h).events.splice(1, 1),
      ['position 2 is event e2 in the log, and subscriber A got event e3', 'subscriber A got 2 of 3 events'],
    ],
    'an event that a subscriber got again': [
      (h) => A(h).events.splice(2, 0, event(2)),
      [
        'subscriber A got event e2 again at position 3',
        'position 3 is event e3 in the log, and subscriber A got event e2',
      ],
    ],
    'a subscription that ended with a wrong error': [(h) => A(h).faults.push('DATA_LOSS'), ['subscriber A: DATA_LOSS']],
    'a key with two bodies': [
      (h) => {
        h.requests.push(seen(4, 'r1', { bodySha256: 's-r3' }));
        h.audit.splice(1, 0, { seq: 20, kind: 'allow', method: 'M', body_sha256: 's-r3' });
        h.audit.splice(2, 0, { seq: 21, kind: 'outcome', allow: 20 });
      },
      ['upstream saw 2 bodies of the keyed request r1'],
    ],
    'a request that was answered OK and never arrived': [
      (h) => h.attempts.push(attempt('r5', 'plain')),
      ['request r5 was answered OK, and upstream never saw it'],
    ],
    'a refusal of a request that was carried out in the same call': [
      (h) => Object.assign(h.attempts[2], { outcome: 'refused', code: 'UNAVAILABLE', reason: 'SHUTTING_DOWN' }),
      ['request r3 was answered UNAVAILABLE (SHUTTING_DOWN), and in the same call upstream made an activity'],
    ],
    'TIMESTAMPS_EXHAUSTED after a small step of the clock': [
      (h) => h.attempts.push(attempt('r6', 'plain', { ...exhausted, behindMs: 9 })),
      ['request r6 was answered TIMESTAMPS_EXHAUSTED on a clock that is behind by 9 ms'],
    ],
    'one activity for two requests': [
      (h) => {
        for (let times = 0; times < 2; ++times) h.attempts.push(attempt('same', 'equal', { activityId: 'x' }));
      },
      ['two requests got the same activity x, the second of them same'],
    ],
    'a timestamp that two equal requests got': [
      (h) => {
        for (let number = 4; number < 6; ++number) {
          h.attempts.push(attempt('same', 'equal', { activityId: `x-${number}` }));
          h.requests.push(seen(number, 'same', { bodySha256: 's-r1' }));
          h.audit.push({ seq: 2 * number + 5, kind: 'allow', method: 'M', body_sha256: 's-r1' });
          h.audit.push({ seq: 2 * number + 6, kind: 'outcome', allow: 2 * number + 5 });
        }
      },
      ['1 timestamps of the request same were used before'],
    ],
    'a request without an allow': [
      (h) => h.requests.push(seen(4, undefined, { bodySha256: 's-query' })),
      ['upstream saw body s-query 1 times, with 0 allowed attempts'],
    ],
    'a request that arrived twice with one allow': [
      (h) => h.requests.push(seen(4, 'r1')),
      ['upstream saw body s-r1 2 times, with 1 allowed attempts'],
    ],
    'an allow without an outcome': [(h) => h.audit.splice(2, 1), ['allow 2 of M has 0 outcomes']],
    'an allow with two outcomes': [
      (h) => h.audit.push({ seq: 9, kind: 'outcome', allow: 4 }),
      ['allow 4 of M has 2 outcomes'],
    ],
    'allows that were left open without a crash': [
      (h) => {
        const [outcome] = h.audit.splice(2, 1);
        h.audit.push({ ...outcome, reason: 'PROCESS_ENDED' }, { seq: 9, kind: 'start', closed: 1 });
      },
      ['a process that ended normally left 1 allows without an outcome'],
    ],
    'an audit log that does not verify': [
      (h) => (h.verification = { status: 1, text: 'files\nBROKEN: line 3\n' }),
      ['audit verify: BROKEN: line 3'],
    ],
    'an unexpected end of the process': [(h) => h.faults.push('it ended with SIGABRT'), ['it ended with SIGABRT']],
  };
  for (const [name, [change, expected]] of Object.entries(cases)) {
    test(name, () => assert.deepEqual(findings(change), expected));
  }

  test('the judge does not report allowed behaviour', () => {
    const repeated = (h) => {
      // The caller does not know the outcome of the first try. The first try arrives at upstream during the second try,
      // which is refused.
      h.attempts[0].outcome = 'unknown';
      h.attempts[0].until = 0;
      h.attempts.push(attempt('r1', 'keyed', { outcome: 'refused', reason: 'SHUTTING_DOWN', from: 0, until: 5 }));
      h.attempts.push(attempt('r1', 'keyed', { from: 5 }));
    };
    const farBehind = (h) => h.attempts.push(attempt('r6', 'plain', { ...exhausted, behindMs: 70_000 }));
    const unaudited = (h) => delete h.audit;
    const crashed = (h) => {
      h.audit.pop();
      h.audit.push({ seq: 8, kind: 'start', closed: 3 });
    };
    for (const change of [repeated, farBehind, unaudited, crashed]) assert.deepEqual(findings(change), []);
  });
});
