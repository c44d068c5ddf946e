// A caller that opens as many connections as the process can hold cannot prevent a reload, which needs file descriptors
// too: for example, the reload that removes this caller.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { binary } from '../paths.mjs';
import { ADMIN, statusOf } from './admin_port.mjs';
import { HANG_MS, eventsConfig, freeCaller, run, scratch, startStack } from './harness.mjs';
import { logLines } from './log_lines.mjs';
import { reconfigure } from './policy_callers.mjs';
import { descriptorsOf, until } from './processes.mjs';

const LIMIT = 300;

/** A program that runs stampgate with at most LIMIT file descriptors. */
function limited(folder, limit = LIMIT) {
  const command = join(folder, `limited-${limit}`);
  writeFileSync(command, `#!/bin/sh\nulimit -n ${limit} && exec '${binary('gateway/stampgate')}' "$@"\n`, { mode: 0o755 });
  return command;
}

test('a reload works while connections use all descriptors that they can get', { timeout: HANG_MS }, async (t) => {
  const folder = scratch(t);
  const config = { admin: ADMIN, reload_interval: '100ms' };
  const { gateway } = await startStack(t, { config, command: limited(folder) });
  const [{ message }] = await logLines(gateway, 1, 'descriptor_limit');
  assert.match(message, /the gateway can need \d+ file descriptors .* but the limit of this process is 300: raise it/);

  const [host, port] = gateway.address.split(':');
  const sockets = Array.from({ length: 2 * LIMIT }, () => connect({ host, port }).on('error', () => {}).resume());
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  const [short] = await logLines(gateway, 1, 'descriptors_short');
  assert.equal(short.port, 'grpc');
  assert.match(short.message, /closes new connections/);
  await until(() => sockets.every((socket) => socket.destroyed || socket.readyState === 'open'), 'all clients are connected or refused');
  assert.ok(descriptorsOf(gateway.child.pid) < LIMIT - 50);
  assert.equal(await statusOf(gateway.adminUrl, '/livez'), 200);

  await reconfigure(gateway, { callers: [...freeCaller(), { name: 'next', dns_names: ['a.example'] }] });
});

test('the webhook port reports that it closes connections because descriptors are short', { timeout: HANG_MS }, async (t) => {
  const folder = scratch(t);
  const config = eventsConfig(folder, { webhooks: { max_connections: 1000 } });
  const { gateway } = await startStack(t, { config, command: limited(folder) });
  const { hostname: host, port } = new URL(gateway.webhookUrl);
  const sockets = Array.from({ length: 2 * LIMIT }, () => connect({ host, port }).on('error', () => {}).resume());
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  const [short] = await logLines(gateway, 1, 'descriptors_short');
  assert.equal(short.port, 'webhooks');
  assert.ok(descriptorsOf(gateway.child.pid) < LIMIT);
});

test('`check` warns of a limit that is lower than the connections need', { timeout: HANG_MS }, async (t) => {
  const folder = scratch(t);
  const { gateway } = await startStack(t, { config: { connections: { max: 1000 } } });
  const check = (limit) => run(['check', '--config', gateway.configFile], { command: limited(folder, limit) });
  const low = await check(1024);
  assert.equal(low.status, 0);
  assert.match(low.stderr, /connections\.max: the gateway can need \d+ file descriptors.*\(warning\)\n$/);
  const [, need] = /can need (\d+)/.exec(low.stderr);
  assert.match((await check(Number(need) - 1)).stderr, /can need/);
  assert.doesNotMatch((await check(Number(need))).stderr, /can need/);
});
