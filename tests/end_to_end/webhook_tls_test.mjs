// Tests the webhook port with its own TLS certificate.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { connect } from 'node:tls';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { makeAuthority } from './certificates.mjs';
import { deliver, prepareEventStack, startEventStack } from './event_stack.mjs';
import { HANG_MS, run, scratch } from './harness.mjs';
import { logged, startFaults } from './log_lines.mjs';
import { until } from './processes.mjs';
import { delivery, requestOf } from './raw_deliveries.mjs';
import { idsOf, listAll } from './subscriber.mjs';

describe('a webhook port with TLS', { timeout: HANG_MS }, async () => {
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

  it('stores deliveries as without TLS', async (t) => {
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

  it('uses a renewed certificate, and does not use an invalid one', async (t) => {
    const [former, renewed] = [authority.issue({ days: 3 }), authority.issue({ days: 9 })];
    const { tls_certificate_file, tls_private_key_file } = files(former.cert, former.key);
    const { simulator, gateway } = await startEventStack(t, {
      simulator: { webhooks: { ca: readFileSync(authority.file) } },
      webhooks: { tls_certificate_file, tls_private_key_file },
      config: { admin: ADMIN, reload_interval: '100ms' },
    });
    const { hostname, port } = new URL(gateway.webhookUrl);
    const replace = (file, bytes) => {
      writeFileSync(`${file}.next`, bytes, { mode: 0o600 });
      renameSync(`${file}.next`, file);
    };
    const welcome = async () => {
      const socket = connect({ host: hostname, port: Number(port), ca: readFileSync(authority.file) });
      t.after(() => socket.destroy());
      await once(socket, 'secureConnect');
      return socket;
    };
    const shownTo = (socket) => socket.getPeerX509Certificate().fingerprint256;
    const fingerprintOf = ({ cert }) => new X509Certificate(cert).fingerprint256;
    const reloads = async (result) =>
      (await metricsOf(gateway)).get(`stampgate_reloads_total{result="${result}",what="webhook_certificates"}`) ?? 0;
    const daysLeft = async () => {
      const expires = (await metricsOf(gateway)).get('stampgate_webhook_tls_certificate_not_after_timestamp_seconds');
      return Math.round((expires - Date.now() / 1000) / 86400);
    };
    const sent = [];
    const deliverOn = async (socket) => {
      sent.push(`evt-${sent.length}`);
      socket.write(requestOf(gateway.webhookUrl, delivery(simulator, { eventId: sent.at(-1) })));
      const [answer] = await once(socket, 'data');
      assert.match(String(answer), /^HTTP\/1\.1 200 /);
    };

    const early = await welcome();
    assert.equal(shownTo(early), fingerprintOf(former));
    assert.equal(await daysLeft(), 3);
    await deliverOn(early);

    // The new certificate file exists, but the key file still contains the key of the old certificate.
    replace(tls_certificate_file, renewed.cert);
    await until(async () => (await reloads('failed')) >= 3, 'three reloads have failed');
    const between = await welcome();
    assert.equal(shownTo(between), fingerprintOf(former));
    await deliverOn(between);
    assert.deepEqual([await reloads('ok'), await daysLeft()], [0, 3]);

    replace(tls_private_key_file, renewed.key);
    await until(async () => (await reloads('ok')) === 1, 'the new pair is in use');
    const late = await welcome();
    assert.equal(shownTo(late), fingerprintOf(renewed));
    assert.equal(await daysLeft(), 9);
    for (const socket of [late, between, early]) await deliverOn(socket);
    const { eventId, status } = await deliver(simulator);
    assert.equal(status, 200);
    assert.deepEqual(idsOf(await listAll(gateway)), [...sent, eventId]);

    await gateway.stop();
    const [told, ...others] = logged(gateway, 'certificate_reload_failed');
    assert.match(told.message, /server\.key: ./);
    assert.deepEqual(others, []);
  });

  const cases = [
    ["a key that is not the certificate's", good.cert, other.key],
    ['no certificate', 'nothing', good.key],
    ['no key', good.cert, 'nothing'],
    ['a key that others may read', good.cert, good.key, 0o644],
  ];
  for (const [title, cert, key, mode = 0o600] of cases) {
    it(`with ${title} prevents the start, and the gateway logs the reason`, async (t) => {
      const webhooks = files(cert, key);
      chmodSync(webhooks.tls_private_key_file, mode);
      const stack = await prepareEventStack(t, { webhooks });
      const config = write('config.yaml', JSON.stringify(stack.config));
      const { status, stdout, stderr } = await run(['serve', '--config', config]);
      assert.deepEqual([status, stdout], [1, '']);
      const [reason, ...others] = startFaults(stderr);
      assert.match(reason, /server\.(?:pem|key): ./);
      assert.deepEqual(others, []);
    });
  }
});
