// TLS to upstream: the gateway sends requests only to a server with the right certificate, whatever the environment is.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import http2 from 'node:http2';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { startSimulator } from '../simulator/server.mjs';
import { exchange } from '../simulator/testing.mjs';
import { makeAuthority } from './certificates.mjs';
import { QUERY, SUBMIT, failureOf, outcomeUnknown } from './failures.mjs';
import { HANG_MS, scratch, startGateway, startStack } from './harness.mjs';
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
});

describe('HTTP/2 to upstream', { timeout: HANG_MS }, () => {
  /** Starts an HTTP/2 server in front of a simulator. `onRequest` can delay a stream, or end it and return true. */
  async function startHttp2(t, onRequest = () => false) {
    const simulator = await startSimulator();
    t.after(() => simulator.close());
    const seen = { simulator, sessions: 0, requests: 0 };
    const server = http2.createSecureServer({ ...good, allowHTTP1: false });
    const open = new Set();
    server.on('session', (session) => {
      seen.sessions += 1;
      open.add(session);
    });
    server.on('stream', async (stream, headers) => {
      stream.on('error', () => {});
      const chunks = [];
      for await (const chunk of stream) chunks.push(chunk);
      seen.requests += 1;
      if (await onRequest(stream, seen.requests)) return;
      const names = Object.keys(headers).filter((name) => !name.startsWith(':') && name !== 'content-length');
      const answer = await exchange(simulator.url + headers[':path'], {
        method: headers[':method'],
        headers: names.map((name) => [name, headers[name]]),
        body: Buffer.concat(chunks),
      });
      stream.respond({ ':status': answer.status, 'content-type': 'application/json' });
      stream.end(answer.body);
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      server.close();
      for (const session of open) session.destroy();
    });
    seen.url = `https://127.0.0.1:${server.address().port}`;
    seen.gateway = await startGateway(t, seen, {}, { upstream: { ...trusting, http2: true } });
    return seen;
  }

  it('carries many concurrent calls over one connection', async (t) => {
    // The number of calls, which exceeds upstream.max_connections. The server answers none of the calls before all have
    // arrived.
    const CALLS = 80;
    let release;
    const released = new Promise((resolve) => (release = resolve));
    const upstream = await startHttp2(t, async (_, number) => {
      if (number === 2 + CALLS) release();
      if (number > 2) await released;
    });
    await checkAnswered(upstream.gateway);
    const calls = Array.from({ length: CALLS }, (_, i) => {
      const parameters = { organization_name: `Renamed ${i}` };
      return upstream.gateway.call(SUBMIT.method, { ...SUBMIT.request, parameters });
    });
    const ids = (await Promise.all(calls)).map(({ activity }) => activity.id);
    assert.equal(new Set(ids).size, CALLS);
    assert.deepEqual([upstream.requests, upstream.sessions], [2 + CALLS, 1]);
  });

  it('falls back to HTTP/1.1 if upstream speaks no HTTP/2', async (t) => {
    const stack = await startStack(t, { simulator: { tls: good }, upstream: { ...trusting, http2: true } });
    await checkAnswered(stack.gateway);
  });

  it('is needed for an upstream that speaks only HTTP/2: without the setting calls fail', async (t) => {
    const upstream = await startHttp2(t);
    await checkUnreachable(await startGateway(t, upstream, {}, { upstream: trusting }));
    assert.equal(upstream.requests, 0);
  });

  const { NGHTTP2_INTERNAL_ERROR, NGHTTP2_REFUSED_STREAM, NGHTTP2_NO_ERROR } = http2.constants;
  const endings = {
    'a stream that fails': (stream) => stream.close(NGHTTP2_INTERNAL_ERROR),
    'a refused stream': (stream) => stream.close(NGHTTP2_REFUSED_STREAM),
    'a stream that ends without a response': (stream) => stream.close(NGHTTP2_NO_ERROR),
    'a session that is destroyed': (stream) => stream.session.destroy(),
    'a session that ends with GOAWAY': ({ session }) => {
      session.goaway(NGHTTP2_NO_ERROR, 0);
      setImmediate(() => session.destroy());
    },
  };
  for (const [name, end] of Object.entries(endings)) {
    for (const reused of [false, true]) {
      it(`does not repeat a request after ${name}, on a ${reused ? 'reused' : 'new'} connection`, async (t) => {
        for (const sample of [SUBMIT, QUERY]) {
          const faulty = reused ? 2 : 1;
          const upstream = await startHttp2(t, (stream, number) => {
            if (number === faulty) end(stream);
            return number === faulty;
          });
          if (reused) await checkOneAnswered(upstream.gateway);
          const failure = await failureOf(upstream.gateway, sample);
          if (sample === SUBMIT) outcomeUnknown(failure, 'UNKNOWN');
          else assert.deepEqual([failure.code, failure.reason], ['UNAVAILABLE', 'UPSTREAM_UNAVAILABLE']);
          await checkOneAnswered(upstream.gateway);
          assert.equal(upstream.requests, faulty + 1);
        }
      });
    }
  }

  async function checkOneAnswered(gateway) {
    assert.ok((await gateway.call(QUERY.method, QUERY.request)).policy);
  }
});
