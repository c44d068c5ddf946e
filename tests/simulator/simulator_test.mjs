// Tests simulator.mjs, the command line of the simulator.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readFixture } from './server.mjs';
import { apiKeyNamed, exchange, query, selfSigned, startReceiver, submit, subOrganization } from './testing.mjs';

const PROGRAM = fileURLToPath(new URL('simulator.mjs', import.meta.url));

const start = (...args) => spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });

/** Runs the program until it exits. */
async function run(...args) {
  const program = start(...args);
  const said = { out: '', err: '' };
  program.stdout.on('data', (chunk) => (said.out += chunk));
  program.stderr.on('data', (chunk) => (said.err += chunk));
  const [code] = await once(program, 'close');
  return { code, ...said };
}

/** Starts the program, calls `use` with its address, and stops the program. */
async function withProgram(args, use) {
  const program = start(...args);
  let out = '';
  program.stdout.on('data', (chunk) => (out += chunk));
  try {
    while (!out.includes('\n')) await once(program.stdout, 'data');
    const url = /^listening on (https?:\/\/[^\n]+)\n$/.exec(out)?.[1];
    assert.ok(url, out);
    await use({ url });
    program.kill('SIGTERM');
    assert.deepEqual(await once(program, 'close'), [0, null]);
    assert.equal(out.split('\n').length, 2);
  } finally {
    program.kill('SIGKILL');
  }
}

function withFolder(use) {
  return async () => {
    const folder = mkdtempSync(join(tmpdir(), 'simulator-'));
    try {
      await use(folder);
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
}

test('prints its address, serves, and stops on SIGTERM', () =>
  withProgram([], async (simulator) => {
    assert.match(simulator.url, /^http:\/\/127\.0\.0\.1:[0-9]+$/);
    assert.equal((await query(simulator, 'whoami')).status, 200);
  }));

test(
  'accepts additional public keys and another fixture',
  withFolder(async (folder) => {
    const fixture = readFixture();
    const strange = apiKeyNamed('stranger');
    fixture.users = fixture.users.filter(({ userName }) => userName !== 'stranger');
    const file = join(folder, 'fixture.json');
    writeFileSync(file, JSON.stringify(fixture));
    const args = ['--fixture', file, '--public-key', `${strange.publicKey}:p256`];
    await withProgram(args, async (simulator) => {
      assert.equal((await query(simulator, 'whoami', {}, { apiKey: strange })).json.username, 'gateway');
    });
  }),
);

test(
  'serves HTTPS',
  withFolder(async (folder) => {
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const pair = selfSigned();
    writeFileSync(cert, pair.cert);
    writeFileSync(key, pair.key);
    await withProgram(['--tls-cert', cert, '--tls-key', key], async ({ url }) => {
      assert.match(url, /^https:/);
      const request = https.get(`${url}/public/v1/discovery/webhooks/jwks`, { rejectUnauthorized: false });
      const [response] = await once(request, 'response');
      response.resume();
      assert.equal(response.statusCode, 200);
      await once(response, 'end');
    });
  }),
);

test('sends the events of all organizations to --webhook', async () => {
  const receivers = [await startReceiver(), await startReceiver()];
  try {
    await withProgram(
      receivers.flatMap(({ url }) => ['--webhook', url]),
      async (simulator) => {
        const organizationId = subOrganization(1);
        const parameters = { organizationName: 'x' };
        await submit(simulator, 'update_organization_name', 'UPDATE_ORGANIZATION_NAME', parameters, { organizationId });
        const stats = `${simulator.url}/_simulator/webhooks/stats?acknowledged=2&waiting=0`;
        assert.equal((await exchange(stats, { method: 'GET' })).json.deliveries, 2);
        for (const { received } of receivers) {
          assert.deepEqual(
            received.map(({ body }) => JSON.parse(body).organizationId),
            [organizationId],
          );
        }
      },
    );
  } finally {
    await Promise.all(receivers.map((receiver) => receiver.close()));
  }
});

test('stops even if a delivery waits for its repetition', async () => {
  const receiver = await startReceiver({ answer: () => ({ status: 503 }) });
  try {
    await withProgram(['--webhook', receiver.url], async (simulator) => {
      await submit(simulator, 'update_organization_name', 'UPDATE_ORGANIZATION_NAME', { organizationName: 'x' });
      await receiver.waitFor(1);
    });
  } finally {
    await receiver.close();
  }
});

test('prints its help', async () => {
  const { code, out } = await run('--help');
  assert.equal(code, 0);
  assert.match(out, /--public-key HEX:CURVE/);
});

for (const [args, reason] of [
  [['--host', '0.0.0.0'], /0\.0\.0\.0 is not a loopback address/],
  [['--host', '::'], /not a loopback address/],
  [['--host', 'example.com'], /not a loopback address/],
  [['--port', 'x'], /--port must be a number/],
  [['--tls-cert', 'x'], /go together/],
  [['--timestamps', 'x'], /timestamps/],
  [['--operator', 'A b'], /operator must be/],
  [['--public-key', 'abc'], /HEX:CURVE/],
  [['--public-key', 'abc:p256'], /33 bytes/],
  [['--public-key', `${'00'.repeat(33)}:secp256k1`], /not a point/],
  [['--public-key', 'abc:p521'], /curve must be one of/],
  [['--fixture', '/nonexistent'], /ENOENT/],
  [['--webhook', 'ftp://x'], /not an HTTP URL/],
  [['--webhook-ca', '/nonexistent'], /ENOENT/],
  [['--unknown'], /--unknown/],
]) {
  test(`does not start with ${args.join(' ')}`, async () => {
    const { code, out, err } = await run(...args);
    assert.equal(code, 2);
    assert.equal(out, '');
    assert.match(err, /^simulator: /);
    assert.match(err, reason);
  });
}
