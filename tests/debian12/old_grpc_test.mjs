// A gateway that is built with Debian 12's own libraries serves on loopback, and with TLS only if the config allows it.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { call, code, connect } from '../clients/gateway.mjs';
import { makeAuthority } from '../end_to_end/certificates.mjs';
import { QUERY } from '../end_to_end/failures.mjs';
import {
  HANG_MS,
  auditConfig,
  freeCaller,
  run,
  scratch,
  startGateway,
  startStack,
  writeKey,
} from '../end_to_end/harness.mjs';
import { logLines, startFaults } from '../end_to_end/log_lines.mjs';
import { startSimulator } from '../simulator/server.mjs';

const REFUSAL =
  'this gateway is built with gRPC 1.51.1, whose HTTP/2 has known faults, so that it serves only without `tls`, on ' +
  'loopback; to serve nevertheless, set `allow_old_grpc: true`';

test('without TLS, the gateway serves and warns', { timeout: HANG_MS }, async (t) => {
  const { gateway } = await startStack(t);
  await gateway.call(QUERY.method, QUERY.request);
  const [{ severity, message }] = await logLines(gateway, 1, 'old_grpc');
  assert.equal(severity, 'WARNING');
  assert.match(message, /^the gateway is built with gRPC 1\.51\.1, /);
});

describe('with TLS', { timeout: HANG_MS }, async () => {
  const folder = scratch({ after });
  const [servers, clients] = ['servers', 'clients'].map((name) => makeAuthority(folder, name));
  const [certificate_file, private_key_file] = ['tls.crt', 'tls.key'].map((name) => join(folder, name));
  const server = servers.issue({ name: 'DNS:gateway.example', usage: 'serverAuth' });
  writeFileSync(certificate_file, server.cert);
  writeFileSync(private_key_file, server.key, { mode: 0o600 });
  const [{ grants }] = freeCaller();
  const config = {
    tls: { certificate_file, private_key_file, client_ca_file: clients.file },
    audit: await auditConfig(folder),
    callers: [{ name: 'payments', dns_names: ['payments.example'], grants }],
  };

  test('`serve` and `check` refuse the config', async () => {
    const file = join(folder, 'refused.yaml');
    const whole = {
      ...config,
      listen_address: '127.0.0.1:0',
      upstream: { base_url: 'http://127.0.0.1:1' },
      keys: [{ name: 'main', file: writeKey(folder), all_organizations: true }],
    };
    writeFileSync(file, JSON.stringify(whole));
    const served = await run(['serve', '--config', file]);
    assert.deepEqual([served.status, startFaults(served.stderr)], [1, [REFUSAL]]);
    const checked = await run(['check', '--config', file]);
    assert.deepEqual([checked.status, checked.stderr], [1, `${REFUSAL}\n`]);
  });

  test('`allow_old_grpc` lets the gateway serve, and still only callers can connect', async (t) => {
    const simulator = await startSimulator();
    t.after(() => simulator.close());
    const gateway = await startGateway(t, simulator, { ...config, allow_old_grpc: true }, { folder: scratch(t) });
    const callAs = async (name) => {
      const { cert, key } = clients.issue({ name, usage: 'clientAuth' });
      const client = connect(gateway.address, {
        tls: { ca: readFileSync(servers.file), cert, key },
        'grpc.ssl_target_name_override': 'gateway.example',
      });
      try {
        await call(client, QUERY.method, QUERY.request);
        return code.OK;
      } catch (error) {
        return error.code;
      } finally {
        client.close();
      }
    };
    assert.equal(await callAs('DNS:payments.example'), code.OK);
    assert.equal(await callAs('DNS:stranger.example'), code.UNAVAILABLE);
  });
});
