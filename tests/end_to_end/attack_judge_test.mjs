// Tests the judge of attacks, and the mixes: the judge finds every kind of fault in made-up observations.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BASE_BYTES, MOST_RESIDENT_BYTES, judge, twiceQuiet } from './attacks/judge.mjs';
import { GROUPS, KINDS } from './attacks/kinds.mjs';
import { alone, mixOf } from './attacks/mix.mjs';

const sampleOf = (answered, ms, failed = {}) => ({ answeredMs: Array(answered).fill(ms), failed });
const party = () => ({ quiet: sampleOf(100, 200), attack: sampleOf(100, 400) });

/** An observation without a fault, in which each value is as bad as permitted. */
const sound = () => ({
  ended: undefined,
  restBytes: BASE_BYTES,
  peakBytes: MOST_RESIDENT_BYTES,
  isAnswered: true,
  honest: { callers: party(), senders: party() },
});

function findings(change) {
  const observation = sound();
  change(observation);
  return judge(observation, twiceQuiet);
}

const slow =
  (party, count) =>
  ({ honest }) =>
    honest[party].attack.answeredMs.fill(401, 0, count);
const failing =
  (party, failed) =>
  ({ honest }) =>
    (honest[party].attack.failed = failed);

describe('the judge', () => {
  test('accepts an observation without a fault', () =>
    assert.deepEqual(
      findings(() => {}),
      [],
    ));

  const faults = {
    'a gateway that was killed': [(o) => (o.ended = { status: null, signal: 'SIGKILL' }), /ended .* SIGKILL/],
    'a gateway that has exited': [(o) => (o.ended = { status: 0, signal: null }), /ended .* 0/],
    'a byte too many at rest': [(o) => (o.restBytes += 1), /at rest/],
    'a byte too many during the attack': [(o) => (o.peakBytes += 1), /were resident/],
    'a gateway that hangs afterwards': [(o) => (o.isAnswered = false), /was not answered/],
    'callers that are too slow': [slow('callers', 6), /94.0 % of the honest callers .* 400 ms/],
    'calls that fail': [failing('callers', { UNAVAILABLE: 6 }), /94.3 % .* {"UNAVAILABLE":6}/],
    'senders that are too slow': [slow('senders', 6), /94.0 % of the honest senders/],
    'deliveries that fail': [failing('senders', { 503: 6 }), /94.3 % .* {"503":6}/],
    'no call during the attack': [({ honest }) => (honest.callers.attack = sampleOf(0)), /NaN % of the honest callers/],
  };
  for (const [title, [change, pattern]] of Object.entries(faults)) {
    test(`finds ${title}`, () => {
      const found = findings(change);
      assert.equal(found.length, 1, found.join('; '));
      assert.match(found[0], pattern);
    });
  }

  test('accepts 5 % of slow calls and of failed calls', () => {
    assert.deepEqual(findings(slow('callers', 5)), []);
    assert.deepEqual(findings(failing('senders', { 503: 5 })), []);
  });

  test('finds that nothing succeeded before the attack', () => {
    const found = findings(({ honest }) => (honest.callers.quiet = sampleOf(0)));
    assert.match(found[0], /no call or delivery of the callers succeeded before/);
  });
});

describe('the mixes', () => {
  const kindsOf = (seed, first, count) =>
    Array.from({ length: count }, (_, index) => mixOf(seed, first + index).map(({ kind }) => kind)).flat();

  test('of ten in a row have every kind', () => {
    for (const seed of ['1', '2', 'another']) {
      for (const first of [0, 10, 190]) {
        assert.deepEqual(
          Object.keys(KINDS).filter((kind) => !kindsOf(seed, first, 10).includes(kind)),
          [],
        );
      }
    }
  });

  test('have parties of all groups at once, and no kind twice', () => {
    for (let number = 0; number < 200; ++number) {
      const kinds = mixOf('1', number).map(({ kind }) => kind);
      assert.equal(new Set(kinds).size, kinds.length);
      for (const group of Object.values(GROUPS))
        assert.ok(
          kinds.some((kind) => kind in group),
          kinds.join(' '),
        );
    }
  });

  test('of a seed are always the same, and those of another seed differ', () => {
    assert.deepEqual(mixOf('1', 7), mixOf('1', 7));
    assert.notDeepEqual(mixOf('1', 7), mixOf('2', 7));
    assert.notDeepEqual(mixOf('1', 7), mixOf('1', 8));
  });

  test('have at least 40 kinds, each with a name of its own', () => {
    const names = Object.values(GROUPS).flatMap((group) => Object.keys(group));
    assert.ok(names.length >= 40);
    assert.equal(new Set(names).size, names.length);
  });

  test('have each kind alone by each party that can make it', () => {
    assert.deepEqual(
      alone('pings').map(([{ party }]) => party),
      ['caller', 'stranger', 'nobody'],
    );
    assert.deepEqual(
      alone('unreadBodies').map(([{ party }]) => party),
      ['caller'],
    );
  });
});
