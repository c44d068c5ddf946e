// Measures what a gateway needs for calls and events, and prints the tables of the page. tests/kubernetes/run runs these
// tests on a node of their own. Each test continues where the one before ended.
import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Ending } from '../conformance/stacks.mjs';
import { metricsOf } from '../end_to_end/admin_port.mjs';
import { WEBHOOK_PATH } from '../end_to_end/harness.mjs';
import { hostOf } from './client.mjs';
import { Installation, volumeOf } from './installation.mjs';
import { Load } from './load.mjs';
import { markdown } from './report.mjs';

/** Calls a second. */
const RATES = [50, 200, 500];
/** How long each rate lasts. */
const SECONDS = 15;
/** The sizes of the bodies of events, and how many of each size. */
const BODIES_BYTES = [1_000, 10_000];
const EVENTS = 5_000;

/** The columns of what is stored. */
const STORED = ['on the volume', 'size'];

/** The bytes of the files on the volume whose names begin so. */
const bytesOf = (beginning) => {
  const folder = volumeOf(0);
  const names = readdirSync(folder).filter((name) => name.startsWith(beginning));
  return names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
};

/** The number of calls that have ended. */
const callsIn = (metrics) =>
  [...metrics].reduce((sum, [series, value]) => sum + (series.startsWith('stampgate_calls_total{') ? value : 0), 0);

/** What the gateway has used and stored until now. */
async function used(host) {
  const metrics = await metricsOf({ adminUrl: `http://${host}:8081` });
  return {
    seconds: Date.now() / 1000,
    calls: callsIn(metrics),
    cpuSeconds: metrics.get('process_cpu_seconds_total'),
    audit: bytesOf('audit.log'),
    keys: bytesOf('calls.db'),
    events: bytesOf('events.db'),
    memory: metrics.get('process_resident_memory_bytes'),
  };
}

/**
 * What the gateway uses and stores during a step, and what the step returns.
 * @template Result
 * @param {string} host
 * @param {() => Promise<Result>} step
 */
async function measure(host, step) {
  const before = await used(host);
  const result = await step();
  const after = await used(host);
  const difference = (name) => after[name] - before[name];
  const seconds = difference('seconds');
  return { result, seconds, difference, cores: difference('cpuSeconds') / seconds, memory: after.memory };
}

const usage = ({ cores, memory }) => [`${cores.toFixed(2)} cores`, `${Math.round(memory / 1e6)} MB`];
const each = (bytes, count) => `${Math.round(bytes / count)} bytes`;

describe('the needs of a gateway', () => {
  /** @type {Installation} */
  let installation;
  let host;
  const ending = new Ending();
  before(async () => {
    installation = await Installation.prepare(ending, process.env.STAMPGATE_IMAGES);
    await installation.install();
    host = await hostOf('stampgate-0');
  });
  after(() => ending.end());

  test('for calls, none of which fails', async () => {
    const rows = [];
    let stored;
    for (const perSecond of RATES) {
      const loading = new Ending();
      const load = await Load.start(loading, () => installation.simulator.service.state, { perSecond });
      const needs = await measure(host, () => load.during(() => load.calls(perSecond * SECONDS)));
      await loading.end();
      assert.deepEqual(needs.result.errors, []);
      const calls = needs.difference('calls');
      rows.push([(calls / needs.seconds).toFixed(0), ...usage(needs)]);
      // The files of the last rate are no longer dominated by the first growth of the write-ahead log.
      stored = [
        ['audit log, for a call', each(needs.difference('audit'), calls)],
        ['key, for a submit', each(needs.difference('keys'), calls / 2)],
      ];
    }
    console.log(`\n${markdown(['calls a second', 'CPU', 'memory'], rows)}`);
    console.log(`\n${markdown(STORED, stored)}\n`);
  });

  test('for events, all of which are stored', async () => {
    const { webhooks } = installation.simulator;
    webhooks.setEndpoints(null, [`http://${host}:8080${WEBHOOK_PATH}`]);
    const send = (bodyBytes) => webhooks.sendMany({ count: EVENTS, bodyBytes }).done;
    // The write-ahead log grows to its size.
    await send(BODIES_BYTES[0]);
    const [rows, stored] = [[], []];
    for (const bodyBytes of BODIES_BYTES) {
      const needs = await measure(host, () => send(bodyBytes));
      assert.equal(needs.result.acknowledged.length, EVENTS);
      rows.push([(EVENTS / needs.seconds).toFixed(0), `${bodyBytes} bytes`, ...usage(needs)]);
      stored.push([`event log, for an event of ${bodyBytes} bytes`, each(needs.difference('events'), EVENTS)]);
    }
    console.log(`\n${markdown(['events a second', 'body of an event', 'CPU', 'memory'], rows)}`);
    console.log(`\n${markdown(STORED, stored)}\n`);
  });
});
