// TLS to upstream: the gateway sends requests only to a server with the right certificate, whatever the environment is.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, renameSync, writeFileSync } from 'node:fs';
import http2 from 'node:http2';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { startSimulator } from '../simulator/server.mjs';
import { makeAuthority } from './certificates.mjs';
import { QUERY, SUBMIT, failureOf } from './failures.mjs';
import { HANG_MS, scratch, startGateway, startStack } from './harness.mjs';
import { until } from './processes.mjs';
import { startCanary, startRawServer } from './raw_server.mjs';

const folder = scratch({ after });
const authority = makeAuthority(folder, 'right');
const stranger = makeAuthority(folder, 'stranger');
const good = authority.issue();
const trusting = { ca_file: authority.file };

const UNREACHABLE = {
  code: 'UNAVAILABLE',
  domain: 'stampgate',
  reason: 'UPSTREAM_UNREACHABLE',
  metadata: {},
  retryMs: 1000,
};

async function checkUnreachable(gateway) {
  for (const sample of [SUBMIT, QUERY]) {
    const { message, ...failure } = await failureOf(gateway, sample);
    assert.deepEqual(failure, UNREACHABLE, message);
  }
}

async function checkAnswered(gateway) {
  assert.ok((await gateway.call(SUBMIT.method, SUBMIT.request)).activity);
  assert.ok((await gateway.call(QUERY.method, QUERY.request)).policy);
}

describe('TLS to upstream', { timeout: HANG_MS }, () => {
  it('works if the right authority issued the certificate', async (t) => {
    const stack = await startStack(t, { simulator: { tls: good }, upstream: trusting });
    await checkAnswered(stack.gateway);
    assert.equal(stack.simulator.stats().connections, 1);
  });

  it('ignores proxies and authorities of the environment', async (t) => {
    const canary = await startCanary(t);
    const proxies = { https_proxy: canary.url, HTTPS_PROXY: canary.url, ALL_PROXY: canary.url, NO_PROXY: '' };
    const stack = await startStack(t, { simulator: { tls: good }, upstream: trusting, env: proxies });
    await checkAnswered(stack.gateway);
    assert.equal(canary.connections, 0);

    const names = ['SSL_CERT_FILE', 'CURL_CA_BUNDLE', 'REQUESTS_CA_BUNDLE'];
    const env = { ...Object.fromEntries(names.map((name) => [name, authority.file])), SSL_CERT_DIR: folder };
    const upstream = { ca_file: stranger.file };
    const other = await startStack(t, { simulator: { tls: good }, upstream, env });
    await checkUnreachable(other.gateway);
    assert.equal(other.simulator.stats().requests, 0);
  });

  it('uses a changed ca_file without a restart', async (t) => {
    const ca_file = join(scratch(t), 'ca.pem');
    copyFileSync(stranger.file, ca_file);
    const { gateway } = await startStack(t, { simulator: { tls: good }, upstream: { ca_file } });
    await checkUnreachable(gateway);
    copyFileSync(authority.file, `${ca_file}.new`);
    renameSync(`${ca_file}.new`, ca_file);
    await until(
      () =>
        gateway.call(QUERY.method, QUERY.request).then(
          () => true,
          () => false,
        ),
      'upstream is trusted',
    );
  });

  it('writes no session keys, even if the environment asks for them', async (t) => {
    const env = { SSLKEYLOGFILE: join(scratch(t), 'session.keys') };
    const stack = await startStack(t, { simulator: { tls: good }, upstream: trusting, env });
    await checkAnswered(stack.gateway);
    assert.equal(existsSync(env.SSLKEYLOGFILE), false);
  });

  // OpenSSL settings that allow old versions of TLS.
  const lax = { OPENSSL_CONF: join(folder, 'lax.cnf') };
  writeFileSync(
    lax.OPENSSL_CONF,
    'openssl_conf = all\n[all]\nssl_conf = modules\n[modules]\nsystem_default = lax\n' +
      '[lax]\nMinProtocol = TLSv1\nCipherString = DEFAULT:@SECLEVEL=0\n',
  );
  const refused = {
    'of an unknown authority': { tls: stranger.issue() },
    'of a test authority while the config has no ca_file': { tls: good, upstream: {} },
    'for another host': { tls: authority.issue({ name: 'DNS:upstream.example' }) },
    'for another address': { tls: authority.issue({ name: 'IP:127.0.0.2' }) },
    'that has expired': { tls: authority.issue({ days: -1 }) },
    'for clients': { tls: authority.issue({ usage: 'clientAuth' }) },
    'and TLS 1.0 only': { tls: old(good, 'TLSv1'), env: lax },
    'and TLS 1.1 only': { tls: old(good, 'TLSv1.1'), env: lax },
  };
  for (const [name, { tls, upstream = trusting, env }] of Object.entries(refused)) {
    it(`sends no request to a server with a certificate ${name}`, async (t) => {
      const stack = await startStack(t, { simulator: { tls }, upstream, env });
      await checkUnreachable(stack.gateway);
      const { requests, connections } = stack.simulator.stats();
      // With TLS 1.3 the handshake ends for the server before the client refuses the certificate.
      assert.ok(requests === 0 && connections <= 2);
    });
  }

  function old(tls, version) {
    return { ...tls, minVersion: version, maxVersion: version, ciphers: 'DEFAULT:@SECLEVEL=0' };
  }

  it('works with a server that supports TLS 1.2 only', async (t) => {
    const stack = await startStack(t, { simulator: { tls: { ...good, maxVersion: 'TLSv1.2' } }, upstream: trusting });
    await checkAnswered(stack.gateway);
  });

  it('sends no request to a server that does not speak TLS', async (t) => {
    const simulator = await startSimulator();
    t.after(() => simulator.close());
    const url = simulator.url.replace('http:', 'https:');
    await checkUnreachable(await startGateway(t, { url }, {}, { upstream: trusting }));
    assert.equal(simulator.stats().requests, 0);
  });

  it('sends no request to a server that closes the connection or never responds', async (t) => {
    for (const onConnection of [(socket) => socket.destroy(), () => {}]) {
      const raw = await startRawServer(t, () => {}, onConnection);
      const upstream = { ...trusting, connect_timeout: '500ms' };
      const gateway = await startGateway(t, { url: raw.url.replace('http:', 'https:') }, {}, { upstream });
      await checkUnreachable(gateway);
      assert.equal(raw.connections, 2);
    }
  });

  it('sends no request to a server that speaks only HTTP/2', async (t) => {
    const server = http2.createSecureServer({ ...good, allowHTTP1: false });
    let requests = 0;
    server.on('stream', () => (requests += 1));
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const url = `https://127.0.0.1:${server.address().port}`;
    await checkUnreachable(await startGateway(t, { url }, {}, { upstream: trusting }));
    assert.equal(requests, 0);
  });
});
