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
  writeFileSync(command, `#!/bin/sh\nulimit -n ${limit} && exec '${binary('gateway/stampgate')}' "$@"\n`, {
    mode: 0o755,
  });
  return command;
}

test('a reload works while connections use all descriptors that they can get', { timeout: HANG_MS }, async (t) => {
  const folder = scratch(t);
  const config = { admin: ADMIN, reload_interval: '100ms' };
  const { gateway } = await startStack(t, { config, command: limited(folder) });
  const [{ message }] = await logLines(gateway, 1, 'descriptor_limit');
  assert.match(
    message,
    /the gateway can need \d+ file descriptors .* but the limit of this process is 300: the gateway admits at most 150 connections/,
  );

  const [host, port] = gateway.address.split(':');
  const sockets = Array.from({ length: 2 * LIMIT }, () =>
    connect({ host, port })
      .on('error', () => {})
      .resume(),
  );
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  const [refused] = await logLines(gateway, 1, 'connection_closed');
  assert.match(refused.message, /connections\.max/);
  await until(
    () => sockets.every((socket) => socket.destroyed || socket.readyState === 'open'),
    'all clients are connected or refused',
  );
  assert.ok(descriptorsOf(gateway.child.pid) < LIMIT - 50);
  assert.equal(await statusOf(gateway.adminUrl, '/livez'), 200);

  await reconfigure(gateway, { callers: [...freeCaller(), { name: 'next', dns_names: ['a.example'] }] });
});

test('both ports report that they close connections because descriptors are short', { timeout: HANG_MS }, async (t) => {
  const folder = scratch(t);
  const FEW = 80;
  const { gateway } = await startStack(t, { config: eventsConfig(folder), command: limited(folder, FEW) });
  const sockets = [];
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  const connectTo = (host, port) =>
    sockets.push(
      connect({ host, port })
        .on('error', () => {})
        .resume(),
    );
  for (let index = 0; index < FEW; ++index) connectTo(...gateway.address.split(':'));
  const [short] = await logLines(gateway, 1, 'descriptors_short');
  assert.equal(short.port, 'grpc');
  assert.match(short.message, /closes new connections/);
  const { hostname, port } = new URL(gateway.webhookUrl);
  connectTo(hostname, port);
  // The gRPC port reports again if it stays short.
  let ofWebhooks;
  for (let count = 2; ofWebhooks === undefined; ++count) {
    const lines = await logLines(gateway, count, 'descriptors_short');
    ofWebhooks = lines.find(({ port: reported }) => reported === 'webhooks');
  }
  assert.ok(descriptorsOf(gateway.child.pid) < FEW);
});

test(
  '`check` and the start warn of a memory that is less than the gateway can need',
  { timeout: HANG_MS },
  async (t) => {
    const folder = scratch(t);
    const command = join(folder, 'limited-data');
    const kibibytes = 8 << 20;
    writeFileSync(command, `#!/bin/sh\nulimit -d ${kibibytes} && exec '${binary('gateway/stampgate')}' "$@"\n`, {
      mode: 0o755,
    });
    const config = { memory: { max_bytes: 2 ** 33 } };
    const { gateway } = await startStack(t, { config, command });
    const [{ message }] = await logLines(gateway, 1, 'memory_limit');
    assert.match(message, /^memory\.max_bytes: the gateway can need 8320 MiB of memory .* gives it \d+ MiB/);
    const { status, stderr } = await run(['check', '--config', gateway.configFile], { command });
    assert.equal(status, 0);
    assert.match(stderr, /memory\.max_bytes: the gateway can need 8320 MiB of memory.*\(warning\)\n$/);
    writeFileSync(gateway.configFile, JSON.stringify({ ...gateway.config, memory: {} }));
    assert.doesNotMatch((await run(['check', '--config', gateway.configFile], { command })).stderr, /of memory/);
  },
);

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
