// Tests of deploy/demonstration, which deploy/quickstart runs after the build, and of deploy/call.mjs.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createListener } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { call, connect } from '../clients/gateway.mjs';
import { HANG_MS, auditConfig, run, scratch, startStack } from '../end_to_end/harness.mjs';
import { until } from '../end_to_end/processes.mjs';
import { binary, root } from '../paths.mjs';

test(
  'the demonstration shows calls, errors, a denial, metrics, events and consumers, and exits',
  { timeout: HANG_MS },
  async () => {
    const { status, stdout, stderr } = await run([binary('gateway/stampgate'), '--once'], {
      command: join(root, 'deploy/demonstration'),
    });
    assert.equal(status, 0, stderr);
    for (const shown of [
      /^the gateway sent: POST \/public\/v1\/submit\/create_policies$/m,
      /^ {2}UNKNOWN OUTCOME_UNKNOWN: /m,
      /^ {2}INVALID_ARGUMENT INVALID_REQUEST: /m,
      /^ {2}PERMISSION_DENIED DENIED_BY_POLICY: /m,
      /^ {2}\{.*"kind":"deny","caller":"quickstart"/m,
      /^ {2}stampgate_calls_total\{code="PERMISSION_DENIED",method="[^"]*DeleteSubOrganization"\} 1$/m,
      /^ {2}ACTIVITY_STATUS_COMPLETED, approved by: gateway, end user$/m,
      /^ {2}subscriber: ACTIVITY_UPDATES ACTIVITY_TYPE_CREATE_POLICIES /m,
      /^ {2}first consumer: handles ACTIVITY_TYPE_CREATE_POLICIES .* \(DELIVERY_REASON_TIMEOUT\)$/m,
    ]) {
      assert.match(stdout, shown);
    }
    assert.doesNotMatch(stdout, /^ {2}stampgate_\S+ 0$/m, 'a metric that says nothing');
    assert.doesNotMatch(stdout + stderr, /\(warning\)|class grants do not cover/);
    assert.match(stdout, /This was --once: gateway and simulator end now\..*\n$/);
  },
);

describe('the first calls of a new user', { timeout: HANG_MS }, () => {
  const organization_id = '11111111-2222-4333-8444-555555555555';
  let demonstration;
  let ended;
  let client;
  const make = (method, request = {}) => call(client, method, { organization_id, ...request });

  before(async () => {
    demonstration = spawn(join(root, 'deploy/demonstration'), [binary('gateway/stampgate')]);
    ended = once(demonstration, 'exit');
    let output = '';
    for (const stream of [demonstration.stdout, demonstration.stderr]) stream.on('data', (data) => (output += data));
    await Promise.race([ended, until(() => output.includes('runs until Ctrl-C'), 'the demonstration waits')]);
    assert.equal(demonstration.exitCode, null, output);
    client = connect(/^gateway on (\S+),/m.exec(output)[1]);
  });
  after(async () => {
    client?.close();
    demonstration.kill();
    await ended;
  });

  const policy = { policy_name: 'mine', effect: 'EFFECT_ALLOW', notes: '' };
  // Each call: its request, which can need an id from another call, and whether its response is the expected one.
  for (const [method, requestOf, holds] of [
    ['WalletService/ListWallets', () => ({}), ({ wallets }) => wallets.length > 0],
    ['AuthenticationService/Whoami', () => ({}), (answer) => answer.organization_id === organization_id],
    [
      'UserService/GetUser',
      async () => ({ user_id: (await make('AuthenticationService/Whoami')).user_id }),
      ({ user }) => user.user_name.length > 0,
    ],
    ['UserService/ListUsers', () => ({}), ({ users }) => users.length > 1],
    ['PolicyService/ListPolicies', () => ({}), ({ policies }) => policies.length > 0],
    ['PrivateKeyService/ListPrivateKeys', () => ({}), ({ private_keys }) => private_keys.length > 0],
    [
      'WalletService/GetWallet',
      async () => ({ wallet_id: (await make('WalletService/ListWallets')).wallets[0].wallet_id }),
      ({ wallet }) => wallet.wallet_name.length > 0,
    ],
    [
      'PolicyService/CreatePolicies',
      () => ({ parameters: { policies: [policy] } }),
      ({ activity }) => activity.result.create_policies_result.policy_ids.length === 1,
    ],
  ]) {
    test(`${method} works`, async () => {
      const answer = await make(method, await requestOf());
      assert.ok(holds(answer), JSON.stringify(answer));
    });
  }

  for (const [method, why] of [
    ['ActivityService/GetActivity', 'no grant has class dangerous or names the method'],
    ['OrganizationService/GetOrganization', 'GetOrganization is internal and in no class: a grant must name it'],
  ]) {
    test(`${method} is denied, and the error states what is missing`, async () => {
      const error = await make(method, method.endsWith('Activity') ? { activity_id: 'a' } : {}).catch((each) => each);
      assert.equal(error.info?.reason, 'DENIED_BY_POLICY');
      assert.equal(
        error.details,
        `the gateway's policy does not allow caller quickstart this call of ${method}: ${why}`,
      );
    });
  }
});

describe("the demonstration's port", { timeout: HANG_MS }, () => {
  const PORT = 7443;
  const demonstration = join(root, 'deploy/demonstration');

  /** Holds the port; resolves to the function that frees it, or to null if another process has the port. */
  async function hold() {
    const listener = createListener().listen(PORT, '127.0.0.1');
    const holds = await new Promise((resolve) => {
      listener.once('listening', () => resolve(true)).once('error', () => resolve(false));
    });
    return holds ? () => new Promise((resolve) => listener.close(resolve)) : null;
  }

  /** Runs the demonstration until it has a config. Resolves to the gateway's address in the config. */
  async function chosenAddress(t) {
    const program = join(scratch(t), 'stampgate');
    const gateway = binary('gateway/stampgate');
    // Prints the address instead of checking the config.
    const lines = [
      '#!/bin/sh',
      `[ "$1" = check ] || exec ${gateway} "$@"`,
      'grep "^listen_address" "$3"',
      'exit 9',
      '',
    ];
    writeFileSync(program, lines.join('\n'), { mode: 0o700 });
    const { status, stdout, stderr } = await run([program, '--once'], { command: demonstration });
    assert.equal(status, 9, stderr);
    return /^listen_address: (.*)$/m.exec(stdout)[1];
  }

  test('is that of the samples if it is free', async (t) => {
    const free = await hold();
    if (!free) return t.skip('another process has the port of the samples');
    await free();
    const address = await chosenAddress(t);
    const freeAgain = await hold();
    if (!freeAgain) return t.skip('another process has taken the port of the samples');
    await freeAgain();
    assert.equal(address, `127.0.0.1:${PORT}`);
  });

  test('is another one if that of the samples is in use', async (t) => {
    const free = await hold();
    if (!free) return t.skip('another process has the port of the samples');
    t.after(free);
    assert.equal(await chosenAddress(t), '127.0.0.1:0');
  });
});

describe('demo.mjs', { timeout: HANG_MS }, () => {
  const runDemo = (...args) => run([join(root, 'deploy/demo.mjs'), ...args], { command: process.execPath });

  test('fails where a call fails', async (t) => {
    // Without a store this gateway refuses the first call, which has an idempotency key.
    const { simulator, gateway } = await startStack(t);
    const { status, stderr } = await runDemo(gateway.address, simulator.url, 'http://127.0.0.1:1', 'no-audit');
    assert.deepEqual([status, stderr], [1, 'the demonstration failed: the policy was not created\n']);
  });

  test('shows no request that a call did not cause', async (t) => {
    const folder = scratch(t);
    const audit = await auditConfig(folder);
    const admin = { listen_address: '127.0.0.1:0' };
    const store = { sqlite: { folder } };
    const { simulator, gateway } = await startStack(t, { config: { audit, admin, store } });
    // Forwards the demonstration's requests to the simulator. Whenever the demonstration clears the list of requests,
    // the gateway then fetches the key set, before the demonstration makes its call.
    const proxy = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray());
      const { method } = request;
      const answer = await fetch(simulator.url + request.url, { method, body: body.length > 0 ? body : undefined });
      if (method === 'DELETE') await gateway.call('WebhookService/GetWebhookKeySet', {});
      response.end(await answer.text());
    }).listen(0, '127.0.0.1');
    t.after(() => proxy.close());
    await once(proxy, 'listening');
    const url = `http://127.0.0.1:${proxy.address().port}`;
    const { stdout } = await runDemo(gateway.address, url, gateway.adminUrl, audit.file);
    assert.equal(
      simulator.requests().some(({ method }) => method === 'GET'),
      true,
    );
    const [first, second] = stdout.match(/^the gateway sent: .*$/gm);
    assert.equal(first, 'the gateway sent: POST /public/v1/submit/create_policies');
    assert.equal(second, 'the gateway sent: POST /public/v1/query/get_policy');
  });
});

describe('call.mjs', { timeout: HANG_MS }, () => {
  const organization = '"organization_id": "11111111-2222-4333-8444-555555555555"';
  for (const [what, status, args, said] of [
    ['prints the response', 0, ['WalletService/ListWalletAccounts', `{${organization}}`], /"accounts"/],
    [
      'prints the error of a failed call',
      1,
      ['WalletService/ListWalletAccounts', '{}'],
      /INVALID_REQUEST[^]*organization_id/,
    ],
    [
      'refuses a misspelt field',
      2,
      ['WalletService/ListWalletAccounts', '{"organisation_id": "x"}'],
      /no field organisation_id/,
    ],
    [
      'refuses a misspelt field of a nested message',
      2,
      ['PolicyService/CreatePolicies', '{"parameters": {"policies": [{"efect": 1}]}}'],
      /no field parameters\.policies\[0\]\.efect/,
    ],
    ['refuses an unknown method', 2, ['WalletService/Nothing', '{}'], /no method WalletService\/Nothing/],
    ['refuses a request that is not JSON', 2, ['WalletService/ListWalletAccounts', '{'], /not JSON/],
  ]) {
    test(what, async (t) => {
      const { simulator, gateway } = await startStack(t);
      const done = await run([join(root, 'deploy/call.mjs'), gateway.address, ...args], { command: process.execPath });
      assert.equal(done.status, status, done.stderr);
      assert.match(status === 0 ? done.stdout : done.stderr, said);
      if (status === 2) assert.equal(simulator.requests().length, 0);
    });
  }
});
