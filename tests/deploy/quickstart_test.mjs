// Tests of deploy/demonstration, which deploy/quickstart runs after the build, and of deploy/call.mjs.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createListener } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { HANG_MS, auditConfig, run, scratch, startStack } from '../end_to_end/harness.mjs';
import { binary, root } from '../paths.mjs';

test('the demonstration shows calls, errors, a denial, metrics and an event, and exits', { timeout: HANG_MS }, async () => {
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
  ]) {
    assert.match(stdout, shown);
  }
  assert.match(stdout, /This was --once: gateway and simulator end now\.[^]*\n {2}\.\/deploy\/quickstart\n$/);
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
    const lines = ['#!/bin/sh', `[ "$1" = check ] || exec ${gateway} "$@"`, 'grep "^listen_address" "$3"', 'exit 9', ''];
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
    assert.equal(simulator.requests().some(({ method }) => method === 'GET'), true);
    const [first, second] = stdout.match(/^the gateway sent: .*$/gm);
    assert.equal(first, 'the gateway sent: POST /public/v1/submit/create_policies');
    assert.equal(second, 'the gateway sent: POST /public/v1/query/get_policy');
  });
});

describe('call.mjs', { timeout: HANG_MS }, () => {
  const organization = '"organization_id": "11111111-2222-4333-8444-555555555555"';
  for (const [what, status, args, said] of [
    ['prints the response', 0, ['WalletService/ListWalletAccounts', `{${organization}}`], /"accounts"/],
    ['prints the error of a failed call', 1, ['WalletService/ListWalletAccounts', '{}'], /INVALID_REQUEST[^]*organization_id/],
    ['refuses a misspelt field', 2, ['WalletService/ListWalletAccounts', '{"organisation_id": "x"}'], /no field organisation_id/],
    ['refuses a misspelt field of a nested message', 2, ['PolicyService/CreatePolicies', '{"parameters": {"policies": [{"efect": 1}]}}'], /no field parameters\.policies\[0\]\.efect/],
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
