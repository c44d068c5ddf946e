// Verifies 10,000 stamps of the gateway's stamper with an independent library.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { binary } from '../paths.mjs';
import { apiKeyNamed } from '../simulator/testing.mjs';
import { run, scratch, writeKey } from './harness.mjs';

/** Bodies of 0 to 255 bytes that contain all byte values, the same in each run. */
const bodyInHex = (curve, i) => {
  const block = (n) => createHash('sha512').update(`${curve} ${i} ${n}`).digest('hex');
  return [0, 1, 2, 3]
    .map(block)
    .join('')
    .slice(0, 2 * (i % 256));
};

async function stampsOf(bodies, file) {
  const { status, stdout, stderr } = await run(['--key', file], {
    command: binary('stamp/stamp_lines'),
    input: `${bodies.join('\n')}\n`,
  });
  assert.equal(status, 0, stderr);
  const stamps = stdout.trimEnd().split('\n');
  assert.equal(stamps.length, bodies.length);
  return stamps;
}

/** Verifies the stamps in a worker. Resolves to the faults. */
function faultsOf(stamps, bodies, key) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('stamp_verifier.mjs', import.meta.url), { workerData: { stamps, bodies, key } });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

for (const [curve, count] of [
  ['p256', 4_000],
  ['secp256k1', 3_000],
  ['ed25519', 3_000],
]) {
  test(`${count} stamps verify: ${curve}`, async (t) => {
    const key = apiKeyNamed(`vectors ${curve}`);
    const bodies = Array.from({ length: count }, (_, i) => bodyInHex(curve, i));
    const stamps = await stampsOf(bodies, writeKey(scratch(t), key));
    const half = count / 2;
    const faults = await Promise.all([
      faultsOf(stamps.slice(0, half), bodies.slice(0, half), key),
      faultsOf(stamps.slice(half), bodies.slice(half), key),
    ]);
    assert.deepEqual(faults.flat(), []);
    // Checks that the verifier detects stamps of other bodies.
    const shifted = await faultsOf(stamps.slice(0, 10), bodies.slice(1, 11), key);
    assert.deepEqual(shifted, Array(10).fill('does not verify'));
  });
}
