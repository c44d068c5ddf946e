// A running gateway follows upstream: it reads ten releases of an API from a file, one after another, while callers call.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { encode, methods } from '../clients/gateway.mjs';
import { describeSymbol, listServices } from '../clients/standard_services.mjs';
import { binary } from '../paths.mjs';
import { ORGANIZATION, identifier } from '../simulator/testing.mjs';
import { HANG_MS, startStack } from './harness.mjs';
import { reconfigure, reloaded } from './policy_callers.mjs';
import { until } from './processes.mjs';

const RELEASES = 10;
const SERVICE = 'stampgate.testing.v1.ManyService';
const LOOPS_PER_CONNECTION = 8;
const GET_POLICY = ['PolicyService/GetPolicy', { organization_id: ORGANIZATION, policy_id: identifier(6) }];

/** Calls without a pause until the gateway ends. Resolves to how many calls ended with each name and reason. */
function load(gateway, [method, request]) {
  const args = [gateway.address, methods.get(method).path, '2', String(LOOPS_PER_CONNECTION)];
  const child = spawn(binary('tests/end_to_end/call_loop'), args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(encode(method, request));
  const calling = { output: '' };
  child.stdout.on('data', (data) => {
    calling.output += data;
  });
  calling.ended = once(child, 'close').then(([status]) => {
    assert.equal(status, 0, calling.output);
    return calling.output
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => JSON.parse(line));
  });
  return calling;
}

test(
  'a gateway under load takes ten releases one after another, and no call fails',
  { timeout: 3 * HANG_MS },
  async (t) => {
    const { gateway, simulator } = await startStack(t, { config: { reload_interval: '100ms' } });
    const file = join(dirname(gateway.configFile), 'operations.binpb');
    const put = (release) => {
      copyFileSync(binary(`tests/operation/release_${release}.binpb`), `${file}.new`);
      renameSync(`${file}.new`, file);
    };
    const methodsServed = async () => (await describeSymbol(gateway.client, SERVICE)).service[0].method.length;

    const calling = load(gateway, GET_POLICY);
    await until(() => calling.output !== '', 'the load is under way');
    put(1);
    await reconfigure(gateway, { operations: [file] });
    assert.equal(await methodsServed(), 20);
    for (let release = 2; release <= RELEASES; ++release) {
      const before = simulator.stats().requests;
      await until(() => simulator.stats().requests > before + 50, 'calls go on between two releases');
      await reloaded(gateway, () => put(release));
      assert.equal(await methodsServed(), 20 * release);
    }
    assert.ok((await listServices(gateway.client)).includes('stampgate.v1.PolicyService'));

    gateway.child.kill('SIGTERM');
    const endings = await calling.ended;
    t.diagnostic(JSON.stringify(endings));
    // A loop ends with an UNAVAILABLE: with the reason SHUTTING_DOWN, or without details if the connection ended.
    const failed = endings.filter(({ name }) => name !== 'OK' && name !== 'UNAVAILABLE');
    assert.deepEqual(failed, []);
    const unavailable = endings.filter(({ name, reason }) => name === 'UNAVAILABLE' && reason !== 'SHUTTING_DOWN');
    assert.ok(
      unavailable.reduce((sum, { count }) => sum + count, 0) <= 2 * LOOPS_PER_CONNECTION,
      JSON.stringify(unavailable),
    );
    assert.ok(endings.find(({ name }) => name === 'OK').count > 500, JSON.stringify(endings));
    assert.deepEqual(await gateway.exited, { status: 0, signal: null }, gateway.output);
  },
);
