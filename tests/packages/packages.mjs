// What the tests of the client packages share: their folders and pages, running programs, keys, and the test of the
// examples that consume.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stateOf, subscriptionConfig } from '../end_to_end/consumer.mjs';
import { deliver } from '../end_to_end/event_stack.mjs';
import { HANG_MS, startStack, writeKey } from '../end_to_end/harness.mjs';
import { wholeTree } from '../paths.mjs';
import { blocksOf } from '../readme/pages.mjs';
import { apiKeyNamed } from '../simulator/testing.mjs';

/** The folder of the sources of a language's package. */
export const sourceOf = (language) => join(wholeTree(), 'proto/clients', language);

/** The page of a language's package. */
export const pageOf = (language) => readFileSync(join(sourceOf(language), 'README.md'), 'utf8');

/** The code blocks of the page. */
export const snippetsOf = (language) => blocksOf(pageOf(language)).map(({ block }) => block);

/** The code blocks of README.md in a language, such as "ts". They have no imports. */
export const readmeSnippets = (language) =>
  blocksOf(readFileSync(join(wholeTree(), 'README.md'), 'utf8')).flatMap((each) =>
    each.language === language ? [each.block] : [],
  );

/**
 * Runs a program until it ends, or ends it when its output matches `until`.
 * @param {string[]} command
 * @param {object} options
 * @param {string} options.cwd
 * @param {NodeJS.ProcessEnv} [options.env] merged over the environment
 * @param {RegExp} [options.until]
 * @param {NodeJS.Signals} [options.signal] what ends it
 * @returns {Promise<{status: number | string, stdout: string, output: string}>} `output` also has the standard error
 */
export async function run([file, ...args], { cwd, env = {}, until, signal = 'SIGKILL' }) {
  // Bazel's tests run Node.js with options of their own.
  const { NODE_OPTIONS: _, ...inherited } = process.env;
  const child = spawn(file, args, { cwd, env: { ...inherited, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, output] = ['', ''];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => {
      output += data;
      if (stream === child.stdout) stdout += data;
      if (until?.test(output)) child.kill(signal);
    });
  }
  const hang = setTimeout(() => child.kill('SIGKILL'), HANG_MS);
  const [status, killer] = await once(child, 'close');
  clearTimeout(hang);
  return { status: status ?? killer, stdout, output };
}

/**
 * A key in the config of a gateway.
 * @param {string} folder
 * @param {string} name
 * @param {string} apiKey the name of the fixture's key
 */
export const keyOf = (folder, name, apiKey) => ({
  name,
  file: writeKey(folder, apiKeyNamed(apiKey), `${name}.key`),
  all_organizations: true,
});

/**
 * Tests a program that consumes the subscription "payouts", and prints a line for each event. It parks events of the
 * type "note".
 * @param {object} t
 * @param {(address: string, options: {until: RegExp, signal: NodeJS.Signals}) => ReturnType<typeof run>} consume runs it
 */
export async function testConsumer(t, consume) {
  /** Starts a gateway whose consumers hold events for this time after their connections have broken. */
  const start = (settle_within) => startStack(t, { events: true, config: subscriptionConfig({ settle_within }) });
  const send = async ({ simulator }, ids) => {
    for (const eventId of ids) await deliver(simulator, { eventId });
  };
  /** Runs the program until it has handled `last`, and ends it. Resolves to the events that it has handled. */
  const handled = async ({ gateway: { address } }, last, signal) => {
    const { status, stdout, output } = await consume(address, { until: new RegExp(`^${last} `, 'm'), signal });
    assert.equal(status, signal === 'SIGKILL' ? signal : 0, output);
    return [...stdout.matchAll(/^\S+(?= .*COMPLETED$)/gm)].map(([id]) => id);
  };

  const short = await start('2s');
  const ids = Array.from({ length: 20 }, (_, index) => `event${index}`);
  await send(short, ids);
  await deliver(short.simulator, { eventId: 'poisoned', json: { type: 'note' } });
  await send(short, ['last']);
  const killed = await handled(short, 'event1', 'SIGKILL');
  const rest = await handled(short, 'last', 'SIGTERM');
  assert.deepEqual([...new Set([...killed, ...rest])], [...ids, 'last']);
  assert.ok(killed.filter((id) => rest.includes(id)).length <= 1, 'only the last event may not have been settled');
  const { parked_events } = await short.gateway.call('SubscriptionService/ListParked', { subscription: 'payouts' });
  assert.deepEqual(
    parked_events.map(({ event, reason }) => [event.event_id, reason]),
    [['poisoned', 'this service handles no events of type note']],
  );
  const { events_behind: behind } = await stateOf(short.gateway);
  assert.equal(Number(behind ?? 0), 0, 'SIGTERM lets the consumer settle its event');

  // Only the consumer itself can give its events back in time.
  const long = await start('1h');
  await send(long, ids);
  const first = await handled(long, 'event1', 'SIGTERM');
  assert.deepEqual([...first, ...(await handled(long, 'event19', 'SIGTERM'))], ids);
}
