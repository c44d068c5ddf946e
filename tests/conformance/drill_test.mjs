// Submits act once and end with a result or a typed error while connections break and the gateway is killed and drained,
// and the drill that states this finds a driver that acts twice.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { scratch } from '../end_to_end/harness.mjs';
import { seedOf } from '../end_to_end/random.mjs';
import { drill } from './drill.mjs';
import { built, languageNames } from './languages.mjs';

/** Far more time than the drills need. */
const LIMIT_MS = 300_000;
const SUBMITS = 200;

/** The driver's pool of threads may have grown, but not with the number of submits or of broken connections. */
const MAX_MORE_THREADS = 8;

describe('200 submits act once each', { timeout: LIMIT_MS, concurrency: true }, () => {
  const folder = scratch({ after });

  for (const name of languageNames) {
    test(`with the package for ${name}`, async (t) => {
      const { program, skipped } = await built(name, folder);
      if (program === undefined) return t.skip(skipped);
      const report = await drill(t, { program }, { submits: SUBMITS, seed: seedOf(t) });
      t.diagnostic(JSON.stringify(report));
      const { faults, submits, results, resets, kills, drains, activities, doubled, sockets, threads } = report;
      assert.deepEqual(faults, []);
      assert.deepEqual({ submits, doubled, sockets }, { submits: SUBMITS, doubled: 0, sockets: 0 });
      assert.equal(activities, results);
      assert.ok(threads <= MAX_MORE_THREADS, `${threads} more threads`);
      // The drill is one.
      assert.ok(results > SUBMITS / 2 && resets >= 10 && kills >= 2 && drains >= 2);
    });
  }
});

test('the drill finds a driver that repeats submits with new keys', { timeout: LIMIT_MS }, async (t) => {
  const liar = fileURLToPath(new URL('drivers/reference/lying_driver.mjs', import.meta.url));
  const program = { command: [process.execPath, liar, 'repeats submits with new keys'] };
  const { submits, results, doubled, activities } = await drill(t, { program }, { submits: 100, seed: seedOf(t) });
  assert.ok(doubled > 0 && activities > results, JSON.stringify({ submits, results, doubled, activities }));
});
