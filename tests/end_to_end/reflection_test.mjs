// Tests server reflection: it describes every service that it lists, it is off with TLS unless the config switches it
// on, it knows its callers, and a stream needs no thread.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { code, connect, methods } from '../clients/gateway.mjs';
import {
  ReflectionStream,
  describeFiles,
  describeSymbol,
  listServices,
  reflect,
  rootOf,
} from '../clients/standard_services.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { makeAuthority } from './certificates.mjs';
import { HANG_MS, auditConfig, freeCaller, scratch, startGateway, startStack } from './harness.mjs';
import { logLines } from './log_lines.mjs';
import { until } from './processes.mjs';

const SERVICES = [...new Set([...methods.keys()].map((name) => `stampgate.v1.${name.split('/')[0]}`))].sort();
const STANDARD = [
  'grpc.health.v1.Health',
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection',
];
const VERSIONS = ['v1', 'v1alpha'];
const NOT_FOUND = code.NOT_FOUND;

const threadsOf = (pid) => readdirSync(`/proc/${pid}/task`).length;

/** The status code with which a stream ends that asks for the list of services. */
async function codeOf(client, version) {
  try {
    await listServices(client, version);
    return code.OK;
  } catch (error) {
    return error.code;
  }
}

describe('reflection without TLS', { timeout: HANG_MS }, async () => {
  const { gateway } = await startStack({ after });
  const { client } = gateway;

  for (const version of VERSIONS) {
    test(`${version} lists every service`, async () => {
      assert.deepEqual(await listServices(client, version), [...STANDARD, ...SERVICES]);
    });

    test(`${version} describes each listed service with all files on which it depends`, async () => {
      for (const service of await listServices(client, version)) {
        const files = await describeFiles(client, service, version);
        const names = new Set(files.map(({ name }) => name));
        assert.equal(names.size, files.length, 'a file is repeated');
        for (const file of files) for (const name of file.dependency) assert.ok(names.has(name), `${service}: ${name}`);
        const described = rootOf(files).lookupService(service);
        assert.ok(described.methodsArray.length > 0, service);
        for (const { resolvedRequestType, resolvedResponseType } of described.methodsArray) {
          assert.ok(resolvedRequestType && resolvedResponseType, service);
        }
      }
    });
  }

  test('describes each service of the API with its methods', async () => {
    for (const service of SERVICES) {
      const file = await describeSymbol(client, service);
      const described = file.service.find(({ name }) => service === `stampgate.v1.${name}`);
      const expected = [...methods.keys()].filter((name) => `stampgate.v1.${name}`.startsWith(`${service}/`));
      assert.deepEqual(described.method.map(({ name }) => `${described.name}/${name}`).sort(), expected.sort());
    }
    const health = await describeSymbol(client, STANDARD[0]);
    assert.deepEqual(
      health.service[0].method.map(({ name }) => name),
      ['Check', 'Watch'],
    );
  });

  test('describes the details of errors, with which tools print them', async () => {
    assert.equal((await describeSymbol(client, 'google.rpc.ErrorInfo')).name, 'google/rpc/error_details.proto');
  });

  test('v1 and v1alpha give equal answers to every kind of request', async () => {
    const streams = VERSIONS.map((version) => new ReflectionStream(client, version));
    const extended = 'google.protobuf.MethodOptions';
    const { extensions } = await reflect(client, { all_extension_numbers_of_type: extended });
    assert.ok(extensions.extension_number.length > 0);
    const requests = [
      {},
      { list_services: '' },
      { host: 'gateway.example', file_by_filename: 'stampgate/v1/wallets.proto' },
      { file_by_filename: 'nothing.proto' },
      ...[...STANDARD, ...SERVICES, 'nothing'].map((file_containing_symbol) => ({ file_containing_symbol })),
      { all_extension_numbers_of_type: extended },
      { all_extension_numbers_of_type: 'nothing' },
      ...[extensions.extension_number[0], 1].map((extension_number) => ({
        file_containing_extension: { containing_type: extended, extension_number },
      })),
    ];
    for (const request of requests) {
      const [v1, v1alpha] = await Promise.all(streams.map((stream) => stream.askBytes(request)));
      assert.deepEqual(v1, v1alpha, JSON.stringify(request));
    }
    for (const stream of streams) stream.end();
    for (const stream of streams) assert.equal((await stream.ended).code, code.OK);
  });

  test('an unknown element is an error in the response, with the request, and the stream continues', async () => {
    const stream = new ReflectionStream(client);
    const missing = await stream.ask({ host: 'h', file_containing_symbol: 'stampgate.v1.NothingService' });
    assert.equal(missing.error.error_code, NOT_FOUND);
    assert.equal(missing.valid_host, 'h');
    assert.equal(missing.original_request.file_containing_symbol, 'stampgate.v1.NothingService');
    assert.ok((await stream.ask({ list_services: '*' })).services);
    stream.end();
    assert.equal((await stream.ended).code, code.OK);
  });

  test('a request of more than 4,096 bytes ends the stream', async () => {
    const stream = new ReflectionStream(client);
    await assert.rejects(stream.ask({ file_by_filename: 'a'.repeat(4096) }), { code: code.INVALID_ARGUMENT });
  });
});

test('250 open streams of a caller need no thread, and one more is refused', { timeout: HANG_MS }, async (t) => {
  const { gateway } = await startStack(t);
  const ask = async () => {
    const stream = new ReflectionStream(gateway.client, VERSIONS[streams.length % 2]);
    streams.push(stream);
    await stream.ask({ file_containing_symbol: 'stampgate.v1.WalletService' });
  };
  const streams = [];
  await ask();
  const before = threadsOf(gateway.child.pid);
  for (let round = 0; round < 83; ++round) await Promise.all(Array.from({ length: 3 }, ask));
  assert.equal(streams.length, 250);
  // gRPC's pool of threads can grow by a few threads under load, whatever the calls are.
  const added = threadsOf(gateway.child.pid) - before;
  assert.ok(added <= 16, `${added} threads were added`);

  const refused = new ReflectionStream(gateway.client);
  await assert.rejects(refused.ask({ list_services: '*' }), { code: code.RESOURCE_EXHAUSTED });
  for (const stream of streams) stream.end();
  for (const stream of streams) assert.equal((await stream.ended).code, code.OK);
  await until(async () => (await codeOf(gateway.client)) === code.OK, 'streams can be opened again');
});

test('a drain ends open streams with UNAVAILABLE and does not wait for them', { timeout: 10_000 }, async (t) => {
  const { gateway } = await startStack(t);
  const stream = new ReflectionStream(gateway.client);
  await stream.ask({ list_services: '*' });
  gateway.child.kill('SIGTERM');
  const { code: ended, details } = await stream.ended;
  assert.deepEqual([ended, details], [code.UNAVAILABLE, 'the gateway is shutting down']);
  assert.equal((await gateway.exited).status, 0);
});

test('with `reflection: false`, both versions are unimplemented', { timeout: HANG_MS }, async (t) => {
  const { gateway } = await startStack(t, { config: { reflection: false } });
  for (const version of VERSIONS) assert.equal(await codeOf(gateway.client, version), code.UNIMPLEMENTED);
});

test('a client without the token of its caller is unauthenticated', { timeout: HANG_MS }, async (t) => {
  const callers = freeCaller().map((caller) => ({ ...caller, token_sha256: ['00'.repeat(32)] }));
  const { gateway } = await startStack(t, { config: { admin: ADMIN, callers } });
  for (const version of VERSIONS) assert.equal(await codeOf(gateway.client, version), code.UNAUTHENTICATED);
  const [{ code: refused, caller }] = await logLines(gateway, 2, 'call_refused');
  assert.deepEqual([refused, caller], ['UNAUTHENTICATED', '(loopback)']);
  const metrics = await metricsOf(gateway);
  assert.equal(metrics.get('stampgate_calls_total{code="UNAUTHENTICATED",method="other"}'), 2);
});

describe('reflection with TLS', { timeout: HANG_MS }, async () => {
  const folder = scratch({ after });
  const [servers, clients] = ['servers', 'clients'].map((name) => makeAuthority(folder, name));
  const simulator = await startSimulator();
  after(() => simulator.close());
  const [certificate_file, private_key_file] = ['tls.crt', 'tls.key'].map((name) => join(folder, name));
  const { cert: certificate, key: privateKey } = servers.issue({ name: 'DNS:gateway.example', usage: 'serverAuth' });
  writeFileSync(certificate_file, certificate);
  writeFileSync(private_key_file, privateKey, { mode: 0o600 });
  const tls = { certificate_file, private_key_file, client_ca_file: clients.file };
  const audit = await auditConfig(folder);
  // A caller that no grant allows anything may use reflection too.
  const callers = [{ name: 'payments', dns_names: ['payments.example'], grants: [] }];
  const start = (t, config) => startGateway(t, simulator, { tls, audit, callers, ...config }, { folder });
  const codeFor = async (gateway, name, version) => {
    const { cert, key } = clients.issue({ name, usage: 'clientAuth' });
    const client = connect(gateway.address, {
      tls: { ca: readFileSync(servers.file), cert, key },
      'grpc.ssl_target_name_override': 'gateway.example',
    });
    try {
      return await codeOf(client, version);
    } finally {
      client.close();
    }
  };

  test('is off by default', async (t) => {
    const gateway = await start(t, {});
    for (const version of VERSIONS) {
      assert.equal(await codeFor(gateway, 'DNS:payments.example', version), code.UNIMPLEMENTED);
    }
  });

  test('with `reflection: true`, serves only callers of the config, and writes no audit record', async (t) => {
    const gateway = await start(t, { reflection: true });
    const records = readFileSync(audit.file, 'utf8');
    for (const version of VERSIONS) {
      assert.equal(await codeFor(gateway, 'DNS:payments.example', version), code.OK);
      // The gateway refuses the certificate of a stranger in the handshake.
      assert.equal(await codeFor(gateway, 'DNS:stranger.example', version), code.UNAVAILABLE);
    }
    assert.equal(readFileSync(audit.file, 'utf8'), records);
  });
});
