// The organizations of a grant are in a file, which other programs write while callers make calls.
import assert from 'node:assert/strict';
import { closeSync, openSync, renameSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ORGANIZATION, identifier, subOrganization } from '../simulator/testing.mjs';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { HANG_MS, putConfig, run, scratch, startStack } from './harness.mjs';
import { logLines, logged } from './log_lines.mjs';
import { asCaller, callerOf } from './policy_callers.mjs';
import { until } from './processes.mjs';

const GET = 'PolicyService/GetPolicy';
const requestOf = (organization_id) => ({ organization_id, policy_id: identifier(6) });
const idsOf = (count, first = 0) => Array.from({ length: count }, (_, i) => subOrganization(first + i));

/** A gateway with the caller "c", whose organizations are in `file`, and the caller "leaving". */
async function start(t, ids) {
  const file = join(scratch(t), 'organizations.txt');
  writeFileSync(file, `${ids.join('\n')}\n`);
  const callers = [
    callerOf('c', [{ classes: ['query'], organizations_file: file }]),
    callerOf('leaving', [{ classes: ['query'], all_organizations: true }]),
  ];
  const config = { callers, reload_interval: '100ms', admin: ADMIN };
  return { file, callers, ...(await startStack(t, { config })) };
}

/** Makes calls until stop() for organizations of `ids`, each of which must be allowed. */
function callFor(caller, ids) {
  let running = true;
  const results = { allowed: 0, denied: 0 };
  const ended = (async () => {
    for (let i = 0; running; i = (i + 1571) % ids.length) {
      try {
        await caller.call(GET, requestOf(ids[i]));
        results.allowed += 1;
      } catch (error) {
        // Upstream does not know most of the organizations.
        results[error.info?.reason === 'DENIED_BY_POLICY' ? 'denied' : 'allowed'] += 1;
      }
    }
  })();
  return {
    async stop() {
      running = false;
      await ended;
      return results;
    },
  };
}

test(
  'no permitted call is denied while the file is written in place for 8 seconds',
  { timeout: 3 * HANG_MS },
  async (t) => {
    const ids = [ORGANIZATION, ...idsOf(4000)];
    const { file, gateway } = await start(t, ids);
    const calls = callFor(asCaller(gateway, 'c'), ids);
    const text = `${[...ids, subOrganization(9999)].join('\n')}\n`;
    const written = openSync(file, 'w');
    for (let part = 0; part < 16; ++part) {
      const [begin, end] = [part, part + 1].map((each) => Math.round((text.length * each) / 16));
      writeSync(written, text.slice(begin, end));
      await sleep(500);
    }
    closeSync(written);
    await logLines(gateway, 1, 'reloaded');
    const { allowed, denied } = await calls.stop();
    t.diagnostic(`${allowed} calls were allowed`);
    assert.equal(denied, 0);
    assert.ok(allowed > 10);
    assert.equal(logged(gateway, 'reloaded').length, 1, 'no half-written state was applied');
    assert.equal(logged(gateway, 'config_changed').length, 1);
    const added = await asCaller(gateway, 'c').refusal(GET, requestOf(subOrganization(9999)));
    assert.notEqual(added.info?.reason, 'DENIED_BY_POLICY');
  },
);

test(
  'a writer that stops leaves the earlier organizations in force, and SIGHUP applies a shorter file',
  { timeout: 2 * HANG_MS },
  async (t) => {
    const ids = [ORGANIZATION, ...idsOf(100)];
    const { file, gateway } = await start(t, ids);
    const isDenied = async (id) =>
      asCaller(gateway, 'c')
        .call(GET, requestOf(id))
        .then(
          () => false,
          ({ info }) => info?.reason === 'DENIED_BY_POLICY',
        );
    writeFileSync(file, `${ids.slice(0, 40).join('\n')}\n`);
    const [shrank] = await logLines(gateway, 1, 'file_shrank');
    assert.equal(shrank.file, file);
    assert.equal(shrank.severity, 'WARNING');
    assert.ok(shrank.bytes < shrank.former_bytes);
    assert.equal(await isDenied(ids[60]), false);
    gateway.child.kill('SIGHUP');
    await logLines(gateway, 1, 'reloaded');
    assert.equal(await isDenied(ids[60]), true);
    assert.equal(await isDenied(ids[20]), false);

    // An emptied file is no order to refuse everything.
    writeFileSync(`${file}.new`, '');
    renameSync(`${file}.new`, file);
    const [fault] = await logLines(gateway, 1, 'organizations_not_applied');
    assert.match(
      fault.message,
      /it lists no organization; if this is meant, it must have the line '# no organizations'/,
    );
    assert.equal(await isDenied(ids[20]), false);
    assert.equal((await metricsOf(gateway)).get('stampgate_grants_without_their_file'), 1);
    const checked = await run(['check', '--config', gateway.configFile]);
    assert.equal(checked.status, 1);
    assert.match(checked.stderr, /organizations_file: it lists no organization/);
    writeFileSync(`${file}.new`, '# no organizations\n');
    renameSync(`${file}.new`, file);
    await logLines(gateway, 2, 'reloaded');
    assert.equal(await isDenied(ids[20]), true);
    // The gateway writes the line before it sets the metric.
    await until(
      async () => (await metricsOf(gateway)).get('stampgate_grants_without_their_file') === 0,
      'the metric is 0',
    );
  },
);

test(
  'a file above the limit blocks no revocation, and a file of a million organizations is used',
  { timeout: 6 * HANG_MS },
  async (t) => {
    const { file, gateway, callers } = await start(t, [ORGANIZATION]);
    const caller = asCaller(gateway, 'c');
    const many = idsOf(1_000_000);
    writeFileSync(`${file}.new`, `${[ORGANIZATION, ...many].join('\n')}\n`);
    renameSync(`${file}.new`, file);
    await logLines(gateway, 1, 'reloaded');
    for (const id of [many[0], many[567_890], many.at(-1)]) {
      assert.notEqual((await caller.refusal(GET, requestOf(id))).info?.reason, 'DENIED_BY_POLICY');
    }
    const checked = await run(['check', '--config', gateway.configFile]);
    assert.equal(checked.status, 0, checked.stderr);

    truncateSync(file, 2 ** 29 + 1);
    const [{ message }] = await logLines(gateway, 1, 'organizations_not_applied');
    assert.match(
      message,
      /organizations_file: it is larger than 536870912 bytes; the earlier organizations stay in force/,
    );
    await asCaller(gateway, 'leaving').call(GET, requestOf(ORGANIZATION));
    putConfig(gateway.configFile, JSON.stringify({ ...gateway.config, callers: callers.slice(0, 1) }));
    await logLines(gateway, 2, 'reloaded');
    assert.equal(
      (await asCaller(gateway, 'leaving').refusal(GET, requestOf(ORGANIZATION))).info.reason,
      'CALLER_NOT_RECOGNIZED',
    );
    await caller.call(GET, requestOf(ORGANIZATION));
    const refused = await run(['check', '--config', gateway.configFile]);
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /organizations_file: it is larger than 536870912 bytes/);
  },
);
