// A running gateway follows upstream: it reads ten releases of an API from a file, one after another, while callers call.
import assert from 'node:assert/strict';
import { copyFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { methods } from '../clients/gateway.mjs';
import { describeSymbol, listServices } from '../clients/standard_services.mjs';
import { binary } from '../paths.mjs';
import { ORGANIZATION, identifier } from '../simulator/testing.mjs';
import { failuresIn, startCalls, successesIn } from './call_loops.mjs';
import { HANG_MS, startStack } from './harness.mjs';
import { reconfigure, reloaded } from './policy_callers.mjs';
import { until } from './processes.mjs';

const RELEASES = 10;
const SERVICE = 'stampgate.testing.v1.ManyService';

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

    const request = { organization_id: ORGANIZATION, policy_id: identifier(6) };
    const calls = await startCalls(gateway, methods.get('PolicyService/GetPolicy'), request);
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
    const endings = await calls.ended;
    t.diagnostic(JSON.stringify(endings));
    assert.deepEqual(failuresIn(endings), []);
    assert.ok(successesIn(endings) > 500, JSON.stringify(endings));
    assert.deepEqual(await gateway.exited, { status: 0, signal: null }, gateway.output);
  },
);
