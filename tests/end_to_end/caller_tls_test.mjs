// Tests TLS between callers and the gateway: client certificates identify callers, and all certificates can change
// while the gateway runs.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { after, describe, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { call, code, connect } from '../clients/gateway.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { ORGANIZATION, identifier } from '../simulator/testing.mjs';
import { ADMIN, metricsOf, statusOf } from './admin_port.mjs';
import { makeAuthority } from './certificates.mjs';
import { HANG_MS, auditConfig, run, scratch, startGateway } from './harness.mjs';
import { logLines, logged } from './log_lines.mjs';
import { reconfigure } from './policy_callers.mjs';
import { LONG, until } from './processes.mjs';

const QUERY = ['PolicyService/GetPolicy', { organization_id: ORGANIZATION, policy_id: identifier(6) }];
const PAYMENTS = 'spiffe://example.org/payments';
const CERTIFICATE = { name: 'DNS:gateway.example', usage: 'serverAuth' };

let replacements = 0;

/** Makes `file` a link to a new file, as Kubernetes does, so that the gateway reads it without waiting. */
function replace(file, content) {
  const target = `${file}.${(replacements += 1)}`;
  writeFileSync(target, content, { mode: 0o600 });
  symlinkSync(target, `${file}.link`);
  renameSync(`${file}.link`, file);
}

/** Makes a folder with the three files that the section `tls` names, and the authorities that issue certificates. */
function makeFiles(t) {
  const folder = scratch(t);
  const servers = makeAuthority(folder, 'servers');
  const clients = makeAuthority(folder, 'clients');
  const tls = {
    certificate_file: join(folder, 'tls.crt'),
    private_key_file: join(folder, 'tls.key'),
    client_ca_file: join(folder, 'ca.crt'),
  };
  const serve = ({ cert, key } = servers.issue(CERTIFICATE), ca = readFileSync(clients.file)) => {
    replace(tls.certificate_file, cert);
    replace(tls.private_key_file, key);
    replace(tls.client_ca_file, ca);
  };
  serve();
  return { folder, servers, clients, tls, serve };
}

const clientOf = (authority, name, more) => authority.issue({ name, usage: 'clientAuth', ...more });

/** A new connection, with a client certificate if `cert` is given. */
const channel = (gateway, servers, { cert, key } = {}) =>
  connect(gateway.address, {
    tls: { ca: readFileSync(servers.file), cert, key },
    'grpc.ssl_target_name_override': 'gateway.example',
  });

async function attempt(gateway, servers, certificate, options) {
  const client = channel(gateway, servers, certificate);
  try {
    return await call(client, ...QUERY, options);
  } catch (error) {
    return error;
  } finally {
    client.close();
  }
}

const grants = [{ classes: ['query'], all_organizations: true }];
const CALLERS = [
  { name: 'payments', spiffe_ids: [PAYMENTS], grants },
  { name: 'support', dns_names: ['support.example.org'], grants },
  { name: 'local', loopback: true, grants },
];

describe('a gateway with TLS', { timeout: HANG_MS }, async () => {
  const files = makeFiles({ after });
  const { folder, servers, clients, tls } = files;
  const simulator = await startSimulator();
  after(() => simulator.close());
  const audit = await auditConfig(folder);
  const gateway = await startGateway(
    { after },
    simulator,
    { listen_address: '0.0.0.0:0', admin: ADMIN, tls, audit, callers: CALLERS },
    { folder },
  );
  const failuresBy = (metrics, reason) => metrics.get(`stampgate_tls_handshakes_failed_total{reason="${reason}"}`);
  const REASONS = ['no_hello', 'hello_refused', 'no_certificate', 'certificate_refused', 'unfinished', 'no_caller'];
  /** The number of failed handshakes by reason. */
  const failedHandshakes = async () => {
    const metrics = await metricsOf(gateway);
    return Object.fromEntries(REASONS.map((reason) => [reason, failuresBy(metrics, reason)]));
  };
  const NONE = Object.fromEntries(REASONS.map((reason) => [reason, 0]));
  const reached = () => attempt(gateway, servers, clientOf(clients, `URI:${PAYMENTS}`));

  test('counts no failed handshake before one fails', async () => {
    await reached();
    await until(async () => (await metricsOf(gateway)).get('stampgate_connections') === 0, 'the connection has ended');
    assert.deepEqual(await failedHandshakes(), NONE);
  });

  const [, port] = gateway.address.split(':');
  /** Sends bytes over TCP and disconnects. With `silent`, waits until the gateway closes the connection. */
  const knock = (bytes, silent = false) =>
    new Promise((resolve) => {
      const socket = connectTcp({ port, host: '127.0.0.1' }, () => (silent ? socket.write(bytes) : socket.end(bytes)));
      socket.on('data', () => {});
      socket.on('error', () => {});
      socket.on('close', resolve);
    });
  /** The bytes of a TLS client's first message. */
  const hello = (options) =>
    new Promise((resolve) => {
      const wire = new Duplex({ read() {}, write: (data, encoding, done) => (resolve(data), done()) });
      const client = connectTls({ socket: wire, rejectUnauthorized: false, ALPNProtocols: ['h2'], ...options });
      client.on('error', () => {});
    });

  for (const [title, reason, act] of [
    ['nothing', 'no_hello', () => knock('')],
    ['no TLS', 'no_hello', () => knock('GET / HTTP/1.1\r\n\r\n')],
    [
      'a hello with an unsupported cipher only',
      'hello_refused',
      async () => knock(await hello({ maxVersion: 'TLSv1.2', ciphers: 'AES128-SHA' }), true),
    ],
    [
      'no protocol (ALPN)',
      'hello_refused',
      () =>
        new Promise((resolve) => {
          const socket = connectTls({
            port,
            host: '127.0.0.1',
            rejectUnauthorized: false,
            ...clientOf(clients, `URI:${PAYMENTS}`),
          });
          socket
            .on('error', () => {})
            .on('close', resolve)
            .resume();
        }),
    ],
    ['a hello and then disconnects', 'unfinished', async () => knock(await hello())],
    ['a hello and then no more bytes', 'unfinished', async () => knock(await hello(), true)],
  ]) {
    // prettier-ignore
    test(`counts a client that sends ${title}`, async () => {
      const before = await failedHandshakes();
      await act();
      const expected = { ...before, [reason]: before[reason] + 1 };
      await until(async () => (await failedHandshakes())[reason] > before[reason], `${title} is counted`);
      assert.deepEqual(await failedHandshakes(), expected);
    });
  }

  test('identifies callers by the URI or the DNS name of their certificate', async () => {
    for (const [name, caller] of [
      [`URI:${PAYMENTS}`, 'payments'],
      ['DNS:support.example.org', 'support'],
      ['DNS:other.example,DNS:SUPPORT.example.org', 'support'],
    ]) {
      const { policy } = await attempt(gateway, servers, clientOf(clients, name));
      assert.equal(policy?.policy_id, identifier(6), name);
      const allows = readFileSync(audit.file, 'utf8')
        .split('\n')
        .filter((line) => line.includes('"kind":"allow"'));
      assert.equal(JSON.parse(allows.at(-1)).caller, caller);
    }
  });

  const NOT_LISTED = /no configured caller has this identity: add it to the spiffe_ids or dns_names of a caller/;
  for (const [title, name, logged, why, more = {}] of [
    ['another SPIFFE ID', 'URI:spiffe://example.org/other', '(spiffe://example.org/other)', NOT_LISTED],
    ['a SPIFFE ID with an additional path segment', `URI:${PAYMENTS}/more`, `(${PAYMENTS}/more)`, NOT_LISTED],
    [
      'a SPIFFE ID in different case',
      'URI:spiffe://example.org/Payments',
      '(spiffe://example.org/Payments)',
      NOT_LISTED,
    ],
    ['two URIs', `URI:${PAYMENTS},URI:spiffe://example.org/other`, '(nobody)', /it has several URIs/],
    [
      'a URI beside the DNS name',
      'URI:https://example.org,DNS:support.example.org',
      '(nobody)',
      /its DNS names do not count/,
    ],
    ['a wildcard', 'DNS:*.example.org', '(nobody)', /neither a SPIFFE ID nor a DNS name/],
    ['an address', 'IP:127.0.0.1', '(nobody)', /neither a SPIFFE ID nor a DNS name/],
    ['another DNS name', 'DNS:other.example.org', '(dns:other.example.org)', NOT_LISTED],
    [
      'the certificate of a CA',
      `URI:${PAYMENTS}`,
      '(nobody)',
      /the certificate of a CA/,
      { more: 'basicConstraints=CA:TRUE' },
    ],
    [
      'a DNS name in the certificate of a CA',
      'DNS:support.example.org',
      '(nobody)',
      /the certificate of a CA/,
      { more: 'basicConstraints=CA:TRUE' },
    ],
    [
      'a key that may sign certificates',
      `URI:${PAYMENTS}`,
      '(nobody)',
      /keyCertSign or cRLSign/,
      { more: 'keyUsage=digitalSignature,keyCertSign' },
    ],
  ]) {
    test(`refuses in the handshake a client with ${title}`, async () => {
      simulator.reset();
      const before = await failedHandshakes();
      const lines = (await logLines(gateway, 0, 'connection_refused')).length;
      const error = await attempt(gateway, servers, clientOf(clients, name, more), { deadlineMs: 3000 });
      assert.ok([code.UNAVAILABLE, code.DEADLINE_EXCEEDED].includes(error.code), `${error.code}`);
      assert.equal(simulator.stats().requests, 0);
      await until(async () => (await failedHandshakes()).no_caller > before.no_caller, 'the handshake is counted');
      // The client of the test before can have connected once more.
      const logs = async () => (await logLines(gateway, lines + 1, 'connection_refused')).slice(lines);
      const certificate = name.startsWith('IP:')
        ? 'and 1 more'
        : name.replaceAll(',', ' ').replaceAll('URI:', 'uri:').replaceAll('DNS:', 'dns:');
      const isThis = (line) => line.peer === logged && line.certificate === certificate;
      await until(async () => (await logs()).some(isThis), 'the refusal is logged');
      const line = (await logs()).find(isThis);
      assert.match(line.message, why);
      assert.equal(line.address, '127.0.0.1');
    });
  }

  for (const [title, reason, certificate] of [
    ['no certificate', 'no_certificate', () => undefined],
    [
      'a certificate of another authority',
      'certificate_refused',
      () => clientOf(makeAuthority(folder, 'strangers'), `URI:${PAYMENTS}`),
    ],
    ['an expired certificate', 'certificate_refused', () => clientOf(clients, `URI:${PAYMENTS}`, { days: -1 })],
    [
      'a certificate for servers',
      'certificate_refused',
      () => clients.issue({ name: `URI:${PAYMENTS}`, usage: 'serverAuth' }),
    ],
  ]) {
    // prettier-ignore
    test(`refuses the connection of a client with ${title}`, async () => {
      simulator.reset();
      const before = await failedHandshakes();
      const error = await attempt(gateway, servers, certificate(), { deadlineMs: 3000 });
      assert.ok([code.UNAVAILABLE, code.DEADLINE_EXCEEDED].includes(error.code), `${error.code}`);
      assert.equal(simulator.stats().requests, 0);
      await until(async () => (await failedHandshakes())[reason] > before[reason], 'the handshake is counted');
    });
  }

  for (const version of ['tls1_2', 'tls1_3']) {
    test(`lets openssl s_client resume no session with ${version}`, async () => {
      const { cert, key } = clientOf(clients, `URI:${PAYMENTS}`);
      const [certFile, keyFile, session] = ['cert', 'key', 'session'].map((name) =>
        join(folder, `s_client-${version}.${name}`),
      );
      writeFileSync(certFile, cert);
      writeFileSync(keyFile, key);
      const client = (...more) =>
        spawnSync('openssl', [
          's_client', '-connect', `127.0.0.1:${port}`, `-${version}`, '-alpn', 'h2', '-cert', certFile, '-key', keyFile,
          '-CAfile', servers.file, ...more,
        ], { input: '', encoding: 'utf8', timeout: HANG_MS }).stdout; // prettier-ignore
      // The option -reconnect connects five more times with the session of the first connection.
      const outputs = [client('-reconnect'), client('-sess_out', session)];
      if (existsSync(session)) outputs.push(client('-sess_in', session));
      for (const output of outputs) {
        assert.match(output, /^New, TLSv1\.\d, Cipher is/m);
        assert.doesNotMatch(output, /^Reused, /m);
      }
    });
  }

  test('is not trusted by a client that dials another host name', async () => {
    const client = connect(gateway.address, {
      tls: { ca: readFileSync(servers.file), ...clientOf(clients, `URI:${PAYMENTS}`) },
      'grpc.ssl_target_name_override': 'other.example',
    });
    await assert.rejects(call(client, ...QUERY, { deadlineMs: 3000 }));
    client.close();
  });

  test('accepts no plaintext, so no client is the loopback caller', async () => {
    const client = connect(gateway.address.replace('0.0.0.0', '127.0.0.1'));
    await assert.rejects(call(client, ...QUERY, { deadlineMs: 3000 }), ({ code: got }) => got !== code.OK);
    client.close();
  });

  test('still serves calls after these attempts', async () =>
    assert.equal((await reached()).policy?.policy_id, identifier(6)));
});

test(
  'logs why a handshake failed, and no more than three lines a minute of one address',
  { timeout: HANG_MS },
  async (t) => {
    const files = makeFiles(t);
    const { folder, servers, clients } = files;
    const { gateway } = await start(t, files);
    const causes = [
      [
        undefined,
        { reason: 'no_certificate', message: /the client has sent no certificate: give it a certificate and key/ },
      ],
      [
        clientOf(makeAuthority(folder, 'strangers'), `URI:${PAYMENTS}`),
        {
          reason: 'certificate_refused',
          certificate: `uri:${PAYMENTS}`,
          message: /no CA of tls.client_ca_file has issued it/,
        },
      ],
      [
        clients.issue({ name: 'DNS:a.example', usage: 'serverAuth' }),
        {
          reason: 'certificate_refused',
          certificate: 'dns:a.example',
          message: /extended key usage contains clientAuth/,
        },
      ],
    ];
    for (const [i, [certificate, expected]] of causes.entries()) {
      const { cert, key } = certificate ?? {};
      const socket = connectTls({
        port: gateway.address.split(':')[1],
        host: '127.0.0.1',
        rejectUnauthorized: false,
        cert,
        key,
        ALPNProtocols: ['h2'],
      });
      socket.on('error', () => {});
      await new Promise((resolve) => socket.on('close', resolve));
      const { time, severity, message, ...line } = (await logLines(gateway, i + 1, 'handshake_failed'))[i];
      const { message: why, ...fields } = expected;
      assert.deepEqual(line, { event: 'handshake_failed', port: 'grpc', address: '127.0.0.1', ...fields });
      assert.equal(severity, 'WARNING');
      assert.match(message, why);
    }
    for (let i = 0; i < 20; ++i) await attempt(gateway, servers, undefined, { deadlineMs: 1000 });
    // Only now is the log complete.
    await gateway.stop();
    assert.equal(logged(gateway, 'handshake_failed').length, 3);
  },
);

test(
  'after a change of the authority, clients of the old one are refused and clients of the new one accepted',
  { timeout: HANG_MS },
  async (t) => {
    const files = makeFiles(t);
    const { folder, servers, clients } = files;
    const { gateway } = await start(t, files);
    const next = makeAuthority(folder, 'next');
    const old = clientOf(clients, `URI:${PAYMENTS}`);
    const fresh = clientOf(next, `URI:${PAYMENTS}`);
    const works = async (certificate) => {
      const answer = await attempt(gateway, servers, certificate, { deadlineMs: 2000 });
      return !(answer instanceof Error);
    };
    assert.ok(await works(old));
    assert.ok(!(await works(fresh)));
    files.serve(undefined, Buffer.concat([readFileSync(clients.file), readFileSync(next.file)]));
    await until(() => works(fresh), 'the new authority is known');
    assert.ok(await works(old));
    files.serve(undefined, readFileSync(next.file));
    await until(async () => !(await works(old)), 'the old authority is gone');
    assert.ok(await works(fresh));
  },
);

test(
  'when an identity is a caller no more, its connection ends within five seconds, and others continue',
  { timeout: HANG_MS },
  async (t) => {
    const files = makeFiles(t);
    const { servers, clients } = files;
    const { gateway } = await start(t, files);
    const support = clientOf(clients, 'DNS:support.example.org');
    const staying = channel(gateway, servers, clientOf(clients, `URI:${PAYMENTS}`));
    t.after(() => staying.close());
    await call(staying, ...QUERY);
    const [, port] = gateway.address.split(':');
    const session = connectHttp2(`https://127.0.0.1:${port}`, {
      ...support,
      ca: readFileSync(servers.file),
      servername: 'gateway.example',
    });
    const goAway = once(session, 'goaway');
    const closed = once(session, 'close');
    await once(session, 'remoteSettings');
    await reconfigure(gateway, { callers: CALLERS.filter(({ name }) => name !== 'support') });
    const began = performance.now();
    const [errorCode, , text] = await goAway;
    assert.deepEqual([errorCode, `${text}`], [0, 'the identity of the certificate belongs to no caller any more']);
    await closed;
    t.diagnostic(`the connection ended ${Math.round(performance.now() - began)} ms after the reload`);
    assert.equal((await call(staying, ...QUERY)).policy?.policy_id, identifier(6));
    assert.ok((await attempt(gateway, servers, support, { deadlineMs: 3000 })) instanceof Error);
  },
);

test(
  'certificates change without a failed call, also while the files are temporarily invalid',
  { timeout: LONG ? 20 * HANG_MS : HANG_MS },
  async (t) => {
    const files = makeFiles(t);
    const { servers, clients, tls, serve } = files;
    const { gateway } = await start(t, files);
    const certificate = clientOf(clients, `URI:${PAYMENTS}`);
    let done = false;
    let calls = 0;
    const load = async () => {
      while (!done) {
        // Each call uses a new connection, so each call makes a handshake.
        const answer = await attempt(gateway, servers, certificate);
        assert.ok(!(answer instanceof Error), answer.message);
        calls += 1;
      }
    };
    const loads = [load(), load()];
    const broken = [
      () => replace(tls.certificate_file, 'garbage'),
      () => rmSync(tls.private_key_file),
      () => replace(tls.private_key_file, servers.issue(CERTIFICATE).key),
      () => replace(tls.client_ca_file, ''),
    ];
    const rounds = LONG ? 500 : 20;
    for (let round = 0; round < rounds; ++round) {
      const before = calls;
      if (round % 2 === 1) broken[(round >> 1) % broken.length]();
      gateway.child.kill('SIGHUP');
      await until(() => calls >= before + 2, 'further calls succeed');
      serve();
      gateway.child.kill('SIGHUP');
      await until(() => calls >= before + 4, 'further calls succeed');
    }
    done = true;
    await Promise.all(loads);
    assert.match(gateway.output, /certificate_reload_failed/);
    t.diagnostic(`${calls} calls over ${rounds} changes`);
  },
);

test('stampgate check reports the faults of the files', async (t) => {
  const { folder, tls, servers } = makeFiles(t);
  const config = {
    listen_address: '0.0.0.0:7443',
    upstream: { base_url: 'https://upstream.example' },
    keys: [],
    callers: CALLERS,
    tls,
  };
  const file = join(folder, 'check.yaml');
  const report = async (changes) => {
    writeFileSync(file, JSON.stringify({ ...config, ...changes }, null, 1));
    return (await run(['check', '--config', file])).stderr;
  };
  assert.match(await report({}), /listen_address: must be .* without audit\.file/);
  replace(tls.private_key_file, servers.issue(CERTIFICATE).key);
  assert.match(await report({}), /tls: cannot be used: .*tls\.(crt|key)/);
  assert.match(
    await report({ tls: { ...tls, client_ca_file: undefined } }),
    /tls\.client_ca_file: is required with tls/,
  );
});

async function start(t, { folder, servers, clients, tls }) {
  const simulator = await startSimulator();
  t.after(() => simulator.close());
  const config = { tls, callers: CALLERS, reload_interval: '100ms' };
  const gateway = await startGateway(t, simulator, config, { folder });
  assert.ok(!((await attempt(gateway, servers, clientOf(clients, `URI:${PAYMENTS}`))) instanceof Error));
  return { gateway };
}
