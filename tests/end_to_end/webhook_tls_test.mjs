// The webhook port with a certificate of its own.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { makeAuthority } from './certificates.mjs';
import { deliver, prepareEventStack, startEventStack } from './event_stack.mjs';
import { HANG_MS, run, scratch } from './harness.mjs';
import { idsOf, listAll } from './subscriber.mjs';

describe('with TLS', { timeout: HANG_MS }, async () => {
  const folder = scratch({ after });
  const authority = makeAuthority(folder, 'authority');
  const write = (name, bytes) => {
    writeFileSync(join(folder, name), bytes, { mode: 0o600 });
    return join(folder, name);
  };
  const [good, other] = [authority.issue(), authority.issue()];
  const files = (cert, key) => ({
    tls_certificate_file: write('server.pem', cert),
    tls_private_key_file: write('server.key', key),
  });

  it('deliveries come in as without it', async (t) => {
    const simulatorOptions = { webhooks: { ca: readFileSync(authority.file) } };
    const webhooks = files(good.cert, good.key);
    const { simulator, gateway } = await startEventStack(t, { simulator: simulatorOptions, webhooks });
    assert.match(gateway.webhookUrl, /^https:/);
    const { eventId, status } = await deliver(simulator);
    assert.equal(status, 200);
    assert.deepEqual(idsOf(await listAll(gateway)), [eventId]);

    simulator.webhooks.change({ maxAttempts: 1 });
    const url = gateway.webhookUrl.replace('https:', 'http:');
    assert.equal((await deliver(simulator, { url })).status, undefined);
    assert.deepEqual(idsOf(await listAll(gateway)), [eventId]);
  });

  const cases = [
    ["a key that is not the certificate's", good.cert, other.key],
    ['no certificate', 'nothing', good.key],
    ['no key', good.cert, 'nothing'],
  ];
  for (const [title, cert, key] of cases) {
    it(`a gateway that has ${title} does not start, and says why`, async (t) => {
      const stack = await prepareEventStack(t, { webhooks: files(cert, key) });
      const config = write('config.yaml', JSON.stringify(stack.config));
      const { status, stdout, stderr } = await run(['serve', '--config', config]);
      assert.deepEqual([status, stdout], [1, '']);
      // It may have said by then that it has the key set.
      const [reason, ...others] = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
      assert.match(reason, /server\.(?:pem|key): ./);
      assert.deepEqual(others, []);
    });
  }
});
