// However the gateway ends under load, every acknowledged event is in the log once, and every subscriber receives it.
//
// With STAMPGATE_LONG=1 the test uses 200 kills instead of 20. STAMPGATE_SEED=... chooses other moments.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createPublicKey, verify } from 'node:crypto';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { binary } from '../paths.mjs';
import { prepareEventStack } from './event_stack.mjs';
import { HANG_MS } from './harness.mjs';
import { LONG, openFilesOf, until } from './processes.mjs';
import { Random } from './random.mjs';
import { EARLIEST, idsOf, listAll } from './subscriber.mjs';

const TIMEOUT_MS = LONG ? 20 * HANG_MS : 2 * HANG_MS;
const SENDERS = 8;

/** Reads the log as it grows, from one gateway after another. Between two gateways, keeps nothing but a cursor. */
class Follower {
  events = [];
  start = EARLIEST;

  /** Resolves when the first message has arrived; `ended` later resolves to the error that ends the call. */
  async follow(gateway) {
    let started;
    const hasStarted = new Promise((resolve) => (started = resolve));
    this.ended = this.#read(gateway, started);
    await Promise.race([hasStarted, this.ended]);
  }

  async #read(gateway, started) {
    try {
      for await (const { events = [], cursor } of gateway.stream('EventService/Subscribe', this.start)) {
        this.events.push(...events);
        this.start = { cursor };
        started();
      }
    } catch (error) {
      return error;
    }
    throw new Error('the subscription ended without an error');
  }
}

/** Starts to send `count` events, each until it is acknowledged. */
function startLoad({ simulator: { webhooks } }, count) {
  webhooks.change({ retryMs: 5, maxRetryMs: 40 });
  return webhooks.sendMany({ count, concurrency: SENDERS });
}

/** Resolves when `count` more events are acknowledged. */
async function progress(load, count) {
  assert.ok(await load.waitFor({ acknowledged: load.acknowledged.size + count, timeoutMs: HANG_MS }));
  assert.ok(!load.isDone, 'the load ended before the kill');
}

/** Kills a gateway that is about to open the log, as soon as it has one of the log's files open. */
async function killWhileOpening({ folder, config, file }, random) {
  const path = join(folder, 'short-lived.yaml');
  writeFileSync(path, JSON.stringify(config));
  const child = spawn(binary('gateway/stampgate'), ['serve', '--config', path], { stdio: 'ignore' });
  const exited = new Promise((resolve) => child.on('exit', (status, signal) => resolve({ status, signal })));
  const name = file + random.pick(['', '-wal', '-shm']);
  while (child.exitCode === null && !openFilesOf(child.pid).includes(name)) await new Promise(setImmediate);
  for (let more = random.below(100); more > 0; --more) await new Promise(setImmediate);
  child.kill('SIGKILL');
  assert.deepEqual(await exited, { status: null, signal: 'SIGKILL' });
}

/** Checks that the log, the acknowledged events and the events that `follower` received are the same. */
async function checkAll(stack, load, follower) {
  const { acknowledged, refused, isDone, answers } = await load.waitFor({ timeoutMs: HANG_MS });
  assert.ok(isDone, 'not every event was acknowledged');
  assert.deepEqual(refused, {});
  assert.deepEqual([...new Set(acknowledged)].sort(), [...load.ids].sort());
  assert.deepEqual(
    Object.keys(answers).filter((answer) => !['200', '503', 'error'].includes(answer)),
    [],
  );

  const log = await listAll(stack.gateway);
  assert.deepEqual(idsOf(log).sort(), [...load.ids].sort());
  checkSignatures(stack.simulator, log);
  for (let index = 1; index < log.length; ++index) {
    assert.ok(timeOf(log[index]) >= timeOf(log[index - 1]), 'a commit time is earlier than the one before');
  }
  await until(() => follower.events.length >= log.length, 'the subscriber has everything');
  assert.deepEqual(follower.events, log);
  return answers;
}

const timeOf = ({ commit_time: { seconds = '0', nanos = 0 } }) => BigInt(seconds) * 1_000_000_000n + BigInt(nanos);

function checkSignatures({ webhooks }, log) {
  const key = createPublicKey(webhooks.keys.signing.privateKey);
  for (const { event_id, body, signature } of log) {
    const head = `v1.ed25519.${signature.key_id}.${signature.timestamp_ms}.${event_id}.`;
    const text = Buffer.concat([Buffer.from(head), body]);
    assert.ok(verify(null, text, key, signature.signature), event_id);
    assert.equal(JSON.parse(body).id, event_id);
  }
}

/** The size of the file; 0 if it does not exist. */
const sizeOf = (path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

test(
  'a gateway that is killed at any moment loses no event and stores none twice',
  { timeout: TIMEOUT_MS },
  async (t) => {
    const random = new Random(t);
    const stack = await prepareEventStack(t);
    // After so many more deliveries the test kills the gateway. In a quarter of the rounds it kills at once.
    const moments = Array.from({ length: LONG ? 200 : 20 }, () => Math.max(0, random.below(100) - 25));
    await stack.start();
    const load = startLoad(stack, sum(moments) + moments.length * 4 * SENDERS + 50);
    const follower = new Follower();
    for (const [round, moment] of moments.entries()) {
      // In every other round the gateway may be killed before the subscriber has started.
      const started = follower.follow(stack.gateway);
      if (round % 2 === 0) await started;
      await progress(load, moment);
      assert.deepEqual(await stack.gateway.stop('SIGKILL'), { status: null, signal: 'SIGKILL' });
      await follower.ended;
      if (round % 4 === 3) await killWhileOpening(stack, random);
      await stack.start();
    }
    await follower.follow(stack.gateway);
    const answers = await checkAll(stack, load, follower);
    t.diagnostic(`${moments.length} kills, ${load.ids.length} events, answers: ${JSON.stringify(answers)}`);
  },
);

test('a gateway under load drains after SIGTERM', { timeout: TIMEOUT_MS }, async (t) => {
  const random = new Random(t);
  const stack = await prepareEventStack(t);
  const moments = Array.from({ length: LONG ? 50 : 10 }, () => random.below(60));
  await stack.start();
  const load = startLoad(stack, sum(moments) + moments.length * 4 * SENDERS + 50);
  const follower = new Follower();
  for (const moment of moments) {
    await follower.follow(stack.gateway);
    await progress(load, moment);
    assert.deepEqual(await stack.gateway.stop('SIGTERM'), { status: 0, signal: null });
    const { code, info } = await follower.ended;
    assert.deepEqual([code, info?.reason], [14, 'SHUTTING_DOWN']);
    assert.equal(info.metadata.cursor, follower.start.cursor);
    assert.equal(sizeOf(`${stack.file}-wal`), 0, 'the log was left as if after a crash');
    await stack.start();
  }
  await follower.follow(stack.gateway);
  const answers = await checkAll(stack, load, follower);
  t.diagnostic(`${moments.length} ends, ${load.ids.length} events, answers: ${JSON.stringify(answers)}`);
});
