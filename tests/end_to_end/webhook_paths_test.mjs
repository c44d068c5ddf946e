// The webhook paths change while the gateway runs, in the config or in a file of their own.
import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { deliver, startEventStack } from './event_stack.mjs';
import { HANG_MS, WEBHOOK_PATH, putConfig, run, scratch } from './harness.mjs';
import { logLines, logged } from './log_lines.mjs';
import { until } from './processes.mjs';

const NEW_PATH = '/hooks/another-path-of-random-text';
const SOON = { reload_interval: '100ms' };

/** Replaces a secret file by a rename. */
function putSecretFile(file, lines) {
  writeFileSync(`${file}.new`, lines.map((line) => `${line}\n`).join(''), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Starts a gateway whose webhook paths are in a file. */
async function startWithFile(t) {
  const file = join(scratch(t), 'paths');
  putSecretFile(file, [WEBHOOK_PATH]);
  const webhooks = { paths: undefined, paths_file: file };
  const { simulator, gateway } = await startEventStack(t, { webhooks, config: SOON });
  simulator.webhooks.change({ maxAttempts: 1 });
  return { simulator, gateway, file };
}

/**
 * Changes the path as an operator does, while upstream delivers events. `put` sets the paths of the gateway. Fails if a
 * delivery is refused.
 */
async function rotate({ simulator, gateway }, put) {
  const urlOf = (path) => gateway.webhookUrl.slice(0, -WEBHOOK_PATH.length) + path;
  const statusAt = async (path) => (await deliver(simulator, { url: urlOf(path) })).status;
  let registered = WEBHOOK_PATH;
  let running = true;
  const statuses = [];
  const deliveries = (async () => {
    while (running) statuses.push(await statusAt(registered));
  })();
  assert.equal(await statusAt(NEW_PATH), 404);
  put([WEBHOOK_PATH, NEW_PATH]);
  await until(async () => (await statusAt(NEW_PATH)) === 200, 'the new path is accepted');
  assert.equal(await statusAt(WEBHOOK_PATH), 200);
  registered = NEW_PATH;
  const before = statuses.length;
  await until(() => statuses.length > before + 1, 'upstream uses the new path');
  put([NEW_PATH]);
  await until(async () => (await statusAt(WEBHOOK_PATH)) === 404, 'the old path is refused');
  running = false;
  await deliveries;
  assert.deepEqual([...new Set(statuses)], [200]);

  await gateway.stop();
  assert.equal(logged(gateway, 'reloaded').length, 2);
  assert.deepEqual(logged(gateway, 'restart_needed', 'reload_failed'), []);
  for (const path of [WEBHOOK_PATH, NEW_PATH]) assert.ok(!gateway.output.includes(path));
}

describe('the webhook path', { timeout: HANG_MS }, () => {
  it('changes with its file, without a restart and without a refused delivery', async (t) => {
    const stack = await startWithFile(t);
    await rotate(stack, (paths) => putSecretFile(stack.file, paths));
  });

  it('changes with the config, without a restart and without a refused delivery', async (t) => {
    const { simulator, gateway, config } = await startEventStack(t, { config: SOON });
    simulator.webhooks.change({ maxAttempts: 1 });
    await rotate({ simulator, gateway }, (paths) => {
      putConfig(gateway.configFile, JSON.stringify({ ...config, webhooks: { ...config.webhooks, paths } }));
    });
  });

  it('stays in force while its file has a fault, which `check` and the log report without the path', async (t) => {
    const { simulator, gateway, file } = await startWithFile(t);
    putSecretFile(file, ['# the next line has a blank', `${NEW_PATH} `, `${NEW_PATH}?`]);
    const fault = new RegExp(`: webhooks\\.paths_file: ${file}:3: must be '/' and at least 23 letters, digits`);
    const [{ message }] = await logLines(gateway, 1, 'reload_failed');
    assert.match(message, fault);
    assert.equal((await deliver(simulator)).status, 200);

    const { status, stderr } = await run(['check', '--config', gateway.configFile]);
    assert.equal(status, 1);
    assert.match(stderr, fault);
    for (const text of [stderr, gateway.output]) assert.ok(!text.includes(NEW_PATH));
  });
});
