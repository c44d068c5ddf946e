// Whatever fails, no error for the caller, no log, no audit record and no export of telemetry contains a secret of a
// request, a stamp or a key.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { code, encode } from '../clients/gateway.mjs';
import { inputsOf } from '../clients/operation_inputs.mjs';
import { methodAt, optionAt, requestAt, requestTypeAt, typedPaths } from '../clients/typed_messages.mjs';
import { ORGANIZATION, apiKeyNamed, identifier } from '../simulator/testing.mjs';
import { startCollector } from '../telemetry/collector.mjs';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { described } from './failures.mjs';
import { HANG_MS, auditConfig, freeCaller, grantOf, scratch, startGateway, startStack } from './harness.mjs';
import { startRawServer } from './raw_server.mjs';

// Each group has hundreds of calls.
const TIMEOUT = { timeout: 5 * HANG_MS };

const audit = await auditConfig(scratch({ after }));
const collector = await startCollector({ after });

/** The paths of submits and queries without a stamp of the client. */
const paths = typedPaths.filter((path) => !path.endsWith('/jwks') && !optionAt(path).stamped_by_client);
const [caller] = freeCaller();
const callers = [{ ...caller, grants: [grantOf(paths.map(methodAt)), ...caller.grants] }];
const { simulator, gateway } = await startStack(
  { after },
  { config: { admin: ADMIN, audit, callers, telemetry: { endpoint: collector.url, sampling_ratio: 1 } } },
);
beforeEach(() => simulator.reset());

/** Everything that a gateway writes, and the new records of its audit log. Omits hashes, which may contain any text. */
function watch(started, auditFile) {
  started.printed = '';
  started.child.stdout.on('data', (data) => (started.printed += data));
  let seen = 0;
  const audited = () => {
    const text = readFileSync(auditFile, 'utf8');
    const fresh = text.slice(seen);
    seen = text.length;
    return fresh.replaceAll(/[0-9a-f]{64}/g, '');
  };
  return () => started.printed + started.output + (auditFile ? audited() : '');
}
/** All bytes that a collector has received in exports, without the headers. */
const exportedTo = ({ exports }) => Buffer.concat(exports.map(({ bytes }) => bytes)).toString('latin1');

const printedByGateway = watch(gateway, audit.file);

const submit = (parameters) => ({ organization_id: ORGANIZATION, parameters });

/** Every request field of the specification that holds a secret, with a request that has a secret in this field. */
const fields = [
  {
    field: 'Oauth2AuthenticateParameters.auth_code',
    method: 'AuthenticationService/Oauth2Authenticate',
    request: (secret) => submit({ ...oauth2, auth_code: secret }),
  },
  {
    field: 'Oauth2AuthenticateParameters.code_verifier',
    method: 'AuthenticationService/Oauth2Authenticate',
    request: (secret) => submit({ ...oauth2, code_verifier: secret }),
  },
  {
    field: 'OauthParameters.oidc_token',
    method: 'AuthenticationService/Oauth',
    request: (secret) => submit({ oidc_token: secret, target_public_key: 'key' }),
  },
  {
    field: 'VerifyOtpParameters.encrypted_otp_bundle',
    method: 'AuthenticationService/VerifyOtp',
    request: (secret) => submit({ otp_id: 'otp', encrypted_otp_bundle: secret }),
  },
  {
    field: 'CreateOauth2CredentialParameters.encrypted_client_secret',
    method: 'AuthenticationService/CreateOauth2Credential',
    request: (secret) =>
      submit({ provider: 'OAUTH2_PROVIDER_X', client_id: 'client', encrypted_client_secret: secret }),
  },
  {
    field: 'OauthProviderToCreate.oidc_token',
    method: 'UserService/CreateOauthProviders',
    request: (secret) =>
      submit({
        user_id: 'user',
        oauth_providers: [
          { provider_name: 'one', oidc_token: 'another token' },
          { provider_name: 'two', oidc_token: secret },
        ],
      }),
  },
  {
    field: 'SubmitOperationRequest.parameters',
    method: 'GeneralService/SubmitOperation',
    request: (secret) => ({
      organization_id: ORGANIZATION,
      path: 'operation_of_next_year',
      activity_type: 'ACTIVITY_TYPE_OPERATION_OF_NEXT_YEAR',
      parameters: JSON.stringify({ deep: [{ inside: secret }] }),
    }),
  },
  {
    field: 'QueryOperationRequest.parameters',
    method: 'GeneralService/QueryOperation',
    request: (secret) => ({
      organization_id: ORGANIZATION,
      path: 'query_of_next_year',
      parameters: JSON.stringify({ deep: [{ inside: secret }] }),
    }),
  },
];
const oauth2 = {
  oauth2_credential_id: identifier(1),
  auth_code: 'code',
  redirect_uri: 'https://app.example.com',
  code_verifier: 'verifier',
  nonce: 'nonce',
};

/** The secret fields in a message of this type, as `field`, and the place of each in the message, as `place`. */
function* secretsIn(type, message, place = []) {
  for (const [name, value] of Object.entries(message)) {
    const field = type.fields[name].resolve();
    if (field.options?.['(field).secret']) {
      yield { field: `${type.name}.${name}`, place: [...place, name, ...(field.repeated ? [0] : [])] };
    }
    if (!field.resolvedType?.fields) continue;
    const entries = field.repeated ? [...value.entries()] : [['', value]];
    for (const [index, inner] of entries) {
      yield* secretsIn(field.resolvedType, inner, [...place, name, ...(field.repeated ? [index] : [])]);
    }
  }
}

/** A copy of the message with the text at `place`. */
function withText(message, place, text) {
  const copy = structuredClone(message);
  place.slice(0, -1).reduce((inner, name) => inner[name], copy)[place.at(-1)] = text;
  return copy;
}

/** Each oneof of requests has fewer members than this. */
const CHOICES = 6;

/** The same for the fields of the other operations, each in the request of one operation. */
const laterFields = [];
for (const path of paths) {
  for (let choice = 0; choice < CHOICES; ++choice) {
    const [{ input }] = inputsOf(path, { organizationId: ORGANIZATION, choice });
    const message = requestAt(path, input);
    for (const { field, place } of secretsIn(requestTypeAt(path), message)) {
      if ([...fields, ...laterFields].some((each) => each.field === field)) continue;
      laterFields.push({ field, method: methodAt(path), request: (secret) => withText(message, place, secret) });
    }
  }
}

/** All fields that a message of this type can contain, directly or in other messages. */
function* fieldsIn(type, seen = new Set()) {
  if (seen.has(type)) return;
  seen.add(type);
  for (const field of type.fieldsArray) {
    yield `${type.name}.${field.name}`;
    const { resolvedType } = field.resolve();
    if (resolvedType?.fields) yield* fieldsIn(resolvedType, seen);
  }
}

/** Secret fields of the specification's responses. No error can contain them. */
const answerFields = [
  'Oauth2AuthenticateResult.oidc_token',
  'OauthResult.credential_bundle',
  'StampLoginResult.session',
  'VerifyOtpResult.verification_token',
  'ExportWalletAccountResult.export_bundle',
  'SubmitOperationResponse.answer',
  'QueryOperationResponse.answer',
  'Vote.message',
];

const SERVER = 2; // a kind of spans

const PIECE = 8;
const made = [];
function secretText() {
  made.push(randomBytes(36).toString('base64url'));
  return made.at(-1);
}

/** Fails if `text` contains one of the secrets, or a piece of it that is too long for a coincidence. */
function assertWithoutAny(text, secrets, where) {
  const pieces = new Set();
  for (let i = 0; i + PIECE <= text.length; ++i) pieces.add(text.slice(i, i + PIECE));
  for (const secret of secrets) {
    for (let i = 0; i + PIECE <= secret.length; ++i) {
      const piece = secret.slice(i, i + PIECE);
      if (!pieces.has(piece)) continue;
      const at = text.indexOf(piece);
      assert.fail(`${where} holds the piece at ${i}: ...${text.slice(Math.max(at - 500, 0), at + 500)}...`);
    }
  }
}
const assertWithout = (text, secret, where) => assertWithoutAny(text, [secret], where);

/** All parts of an error that the caller receives, as bytes. */
function seenByCaller(error) {
  const entries = Object.entries(error.metadata.getMap());
  const parts = entries.map(([name, value]) => `${name}=${Buffer.from(value).toString('latin1')}`);
  return [error.details, ...parts].map((text) => Buffer.from(text).toString('latin1')).join('\n');
}

async function assertNotTold(method, request, secret, { from = gateway, printed = printedByGateway } = {}) {
  const error = await from.refusal(method, request);
  described(error);
  assertWithout(seenByCaller(error), secret, 'the error');
  assertWithout(printed(), secret, 'the output');
  return error;
}

/** Responses of an upstream that repeats a text in every possible place. */
function echoes(text) {
  const half = text.slice(0, text.length / 2);
  const violations = [text, half, `a.${text}[0]`, `"${text}"`].map((each) => ({ field: each, description: each }));
  const body = {
    code: 3,
    message: `it says ${text}, ${half} and \\"${text}\\"`,
    [text]: text,
    serviceErrorCode: text,
    details: [
      { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations },
      { '@type': text, serviceErrorCode: text, [text]: [text] },
      text,
    ],
  };
  const answer = (status, value, headers = {}) => ({
    kind: 'status',
    status,
    body: typeof value === 'string' ? value : JSON.stringify(value),
    headers,
  });
  const error = (more) => ({ kind: 'error', echo: true, ...more });
  return {
    'all over a 400': answer(400, body),
    'all over a 401': answer(401, body),
    'all over a 403': answer(403, body),
    'all over a 409': answer(409, body),
    'all over a 429': answer(429, body, { 'Retry-After': text }),
    'all over a 500': answer(500, body),
    'all over a 501': answer(501, body),
    'all over a 503': answer(503, body, { 'Retry-After': text }),
    'in a redirect': answer(302, body, { Location: `https://127.0.0.1/${text}` }),
    'in headers': answer(404, '', { 'Content-Type': text, Warning: text }),
    'in a text': answer(400, text),
    'in a 200 that cannot be parsed': answer(200, `{"activity": ${text}}`),
    'in a 200 with a member twice': answer(200, `{"${text}": 1, "${text}": "${text}"}`),
    'in text after the JSON of a 200': answer(200, `{"activity": {}} ${text}`),
    'in a refused field': error({ code: 'INVALID_ARGUMENT', errorCode: 'REQUEST_INVALID', fieldViolations: 30 }),
    'in a denial': error({ code: 'PERMISSION_DENIED', policyDenied: true }),
    'in an unknown token': error({ code: 'NOT_FOUND', errorCode: 'INVALID_OIDC_TOKEN', errorCodeIn: 'both' }),
    'in a broken connection': { kind: 'truncated' },
  };
}

describe("a secret that upstream's response repeats is not in the error or the log:", TIMEOUT, () => {
  it('these tests cover every field that holds a secret', () => {
    const folder = new URL('../../proto/stampgate/v1/', import.meta.url);
    const declared = readdirSync(folder).flatMap((name) => {
      const text = readFileSync(new URL(name, folder), 'utf8').replace(/\/\/.*/g, '');
      return [...text.matchAll(/^message (\w+) \{([\s\S]*?)^\}/gm)].flatMap(([, message, body]) =>
        [...body.matchAll(/(\w+) = \d+ \[([^\]]*)\]/g)]
          .filter(([, , options]) => /\(field\)\.secret = true/.test(options))
          .map(([, field]) => `${message}.${field}`),
      );
    });
    const covered = [...fields, ...laterFields].map(({ field }) => field);
    const inRequests = new Set(typedPaths.flatMap((path) => [...fieldsIn(requestTypeAt(path))]));
    const isInRequest = (field) => inRequests.has(field) || /^(Submit|Query)OperationRequest\./.test(field);
    assert.deepEqual(declared.filter(isInRequest).sort(), covered.sort());
    assert.ok(covered.length > 100);
    for (const field of answerFields) assert.ok(declared.includes(field) && !isInRequest(field), field);
  });

  for (const { field, method, request } of laterFields) {
    it(`${field} in every place`, async () => {
      for (const place of Object.keys(echoes('x'))) {
        const secret = secretText();
        simulator.addFaults([echoes(secret)[place]]);
        await assertNotTold(method, request(secret), secret);
        assert.equal(simulator.pendingFaults(), 0);
      }
    });
  }

  for (const { field, method, request } of fields) {
    for (const place of Object.keys(echoes('x'))) {
      it(`${field} ${place}`, async () => {
        const secret = secretText();
        simulator.addFaults([echoes(secret)[place]]);
        await assertNotTold(method, request(secret), secret);
        assert.deepEqual([simulator.stats().requests, simulator.pendingFaults()], [1, 0]);
      });
    }
  }

  const shapes = {
    'that looks like a code': () => `SECRET_${randomBytes(12).toString('hex').toUpperCase()}`,
    'that is long': () => randomBytes(3000).toString('base64url'),
    'that has every kind of character': () => `é"\\/\n\t${secretText()}😀<>&'%20${secretText()}`,
    'that is a number': () => String(randomBytes(6).readUIntBE(0, 6) + 1e14),
    // The member's name must not be a word of the log, which would then contain a piece of the secret legitimately.
    'that is JSON': () => JSON.stringify({ canary: secretText() }),
  };
  for (const [name, make] of Object.entries(shapes)) {
    for (const { field, method, request } of fields) {
      it(`${field} ${name}`, async () => {
        const places = ['all over a 400', 'all over a 401', 'in a refused field', 'in a 200 with a member twice'];
        for (const place of places) {
          const secret = make();
          const escaped = JSON.stringify(secret).slice(1, -1);
          const fault = echoes(secret)[place];
          simulator.addFaults([fault.status === 200 ? echoes(escaped)[place] : fault]);
          // Errors contain text beyond ASCII as UTF-8.
          await assertNotTold(method, request(secret), Buffer.from(secret).toString('latin1'));
          assert.equal(simulator.pendingFaults(), 0);
        }
      });
    }
  }

  it('a very short secret is removed completely', async () => {
    for (const secret of ['~', 'q~', '7~3', 'Zq~7', 'a~b~c~d']) {
      for (const { method, request } of fields) {
        simulator.addFaults([echoes(secret)['all over a 400']]);
        const error = await gateway.refusal(method, request(secret));
        assert.ok(!seenByCaller(error).includes(secret), error.details);
      }
    }
  });

  it('a secret of a general operation is removed also if it is a JSON number', async () => {
    for (const { method, request } of fields.filter(({ method: name }) => name.startsWith('General'))) {
      const secret = '730155529148007';
      const message = { ...request('x'), parameters: `{"pin": [${secret}]}` };
      simulator.addFaults([echoes(secret)['all over a 400']]);
      await assertNotTold(method, message, secret);
    }
  });

  it('the rest of the message remains', async () => {
    const secret = secretText();
    simulator.addFaults([{ kind: 'status', status: 400, body: JSON.stringify({ message: `token ${secret} is old` }) }]);
    const error = await gateway.refusal(fields[2].method, fields[2].request(secret));
    assert.equal(error.details, 'token [secret] is old');
  });

  it('an upstream that does not speak HTTP does not reveal the secret either', async (t) => {
    for (const shape of [
      (text) => text,
      (text) => `HTTP/1.1 ${text}\r\n\r\n`,
      (text) => `HTTP/1.1 200 ${text}\r\nContent-Length: ${text}\r\n\r\n`,
      (text) => `HTTP/1.1 404 ${text}\r\n${text}: ${text}\r\nContent-Length: 0\r\n\r\n`,
      (text) => `HTTP/1.1 200 OK\r\nTransfer-Encoding: ${text}\r\n\r\n${text}`,
      (text) => `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${text}\r\n`,
    ]) {
      const secret = secretText();
      const upstream = await startRawServer(t, (socket) => socket.end(shape(secret)));
      const started = await startGateway(t, upstream);
      const printed = watch(started);
      for (const { method, request } of fields) {
        await assertNotTold(method, request(secret), secret, { from: started, printed });
      }
    }
  });
});

describe('a secret in a request that the gateway refuses is not in the error or the log:', TIMEOUT, () => {
  for (const { field, method, request } of [...fields, ...laterFields]) {
    it(`${field}, in bytes that cannot be decoded`, async () => {
      const secret = secretText();
      const bytes = encode(method, request(secret));
      for (const spoiled of [
        bytes.subarray(0, bytes.length - 3),
        Buffer.concat([bytes, Buffer.from([0xff])]),
        // The first byte is a tag with wire type 7, which does not exist. Without it, the beginning of some secrets is
        // the tag and the length of an unknown field, after which the secret is in the field organization_id.
        Buffer.concat([Buffer.from([0x0f]), Buffer.from(secret), bytes]),
        // This message has the same length, but its text is not UTF-8.
        Buffer.from(bytes.map((byte, i) => (i === bytes.indexOf(secret) + 20 ? 0xff : byte))),
        Buffer.concat([bytes, Buffer.from([0xfa, 0x7f, secret.length]), Buffer.from(secret)]),
      ]) {
        await assertNotTold(method, spoiled, secret);
      }
      assert.equal(simulator.stats().requests, 0);
    });

    it(`${field}, beside other faults`, async () => {
      const secret = secretText();
      await assertNotTold(method, { ...request(secret), organization_id: '' }, secret);
      assert.equal(simulator.stats().requests, 0);
    });
  }

  it('in text that is not JSON', async () => {
    const secret = secretText();
    const texts = [
      secret,
      `"${secret}`,
      `{"a": "${secret}"`,
      `{"a": "${secret}"} ${secret}`,
      `{"${secret}": 1, "${secret}": 2}`,
      `{"a": ${secret}}`,
      `{"a": "\\uX${secret}"}`, // the secret may begin with four hex digits
      `{"organizationId": "${secret}", "type": "${secret}"}`,
      `${'['.repeat(3000)}"${secret}"${']'.repeat(3000)}`,
    ];
    for (const { method, request } of fields.filter(({ method: name }) => name.startsWith('General'))) {
      for (const parameters of texts) {
        const message = { ...request('x'), parameters };
        // A submit's parameters may have any names. A query's parameters are at the top level of the body.
        if (method.endsWith('SubmitOperation') && parameters.includes('"organizationId"')) continue;
        await assertNotTold(method, message, secret);
      }
    }
    assert.equal(simulator.stats().requests, 0);
  });

  it('in a value that is too long, or in a message that is', async () => {
    const secret = secretText();
    const contract = { smart_contract_address: 'a', type: 'SMART_CONTRACT_INTERFACE_TYPE_SOLANA', label: 'l' };
    const long = secret.repeat(Math.ceil(400_001 / secret.length));
    const method = 'SmartContractService/CreateSmartContractInterface';
    await assertNotTold(method, submit({ ...contract, smart_contract_interface: long }), secret);
    for (const { method: other, request } of fields) {
      // gRPC refuses a message of this size before the gateway reads it.
      const error = await gateway.refusal(other, request(secret.repeat(23_000)));
      assert.equal(error.code, code.RESOURCE_EXHAUSTED);
      assertWithout(seenByCaller(error), secret, 'the error');
      assertWithout(printedByGateway(), secret, 'the output');
    }
    assert.equal(simulator.stats().requests, 0);
  });
});

describe('what the gateway prints and exports', TIMEOUT, () => {
  it('has no stamp, no key and no secret of successful calls', async (t) => {
    const folder = scratch(t);
    const own = await auditConfig(folder);
    const receiver = await startCollector(t);
    const headers_file = join(folder, 'headers');
    const header = secretText();
    writeFileSync(headers_file, `x-api-key: ${header}\n`, { mode: 0o600 });
    const telemetry = { endpoint: receiver.url, headers_file, sampling_ratio: 1 };
    const stack = await startStack(t, { simulator: { references: 'any' }, config: { audit: own, telemetry } });
    const watched = watch(stack.gateway, own.file);
    const secret = secretText();
    for (const { method, request } of fields.slice(0, 6)) {
      await stack.gateway.call(method, request(secret)).catch(() => {});
    }
    for (const fault of Object.values(echoes(secret))) {
      stack.simulator.addFaults([fault]);
      await stack.gateway.refusal(fields[2].method, fields[2].request(secret));
    }
    const requests = stack.simulator.requests();
    await stack.gateway.stop();
    for (const { metadata } of receiver.exports) assert.equal(metadata['x-api-key'], header);
    const spans = receiver.spans().filter(({ kind }) => kind === SERVER);
    assert.equal(spans.length, requests.length, 'the test has not read the spans of all calls');
    assert.ok(receiver.metrics().length > 0, 'the test has not read the metrics');
    const all = watched() + exportedTo(receiver);
    const printed = () => all;
    assertWithout(printed(), header, 'the output');
    assert.ok(all.includes('"event":"stopped"'), 'the test has not read the whole log');
    assert.ok(all.includes('"kind":"stop"'), 'the test has not read the whole audit log');
    assertWithout(printed(), secret, 'the output');
    assertWithout(printed(), apiKeyNamed('gateway p256').privateKey, 'the output');
    assert.equal(requests.length, 6 + Object.keys(echoes('')).length);
    for (const { headers, body } of requests) {
      const [, stamp] = headers.find(([name]) => name.toLowerCase() === 'x-stamp');
      assertWithout(printed(), stamp, 'the output');
      assertWithout(printed(), JSON.parse(Buffer.from(stamp, 'base64url')).signature, 'the output');
      assert.ok(!printed().includes(body));
    }
  });
});

describe('the metrics and the spans of all tests above', TIMEOUT, () => {
  const secrets = () => [...made, apiKeyNamed('gateway p256').privateKey];

  it('contain no key and no secret on the page /metrics', async () => {
    const { text } = await metricsOf(gateway);
    assert.ok(made.length > 100);
    assertWithoutAny(text, secrets(), 'the metrics');
  });

  it('contain no key and no secret in the exports', async () => {
    const lost = (await metricsOf(gateway)).get('stampgate_telemetry_calls_dropped_total');
    assert.equal(lost, 0);
    await gateway.stop(); // the last export contains the rest of the spans, and the metrics
    const spans = collector.spans().filter(({ kind }) => kind === SERVER);
    assert.ok(spans.length > made.length);
    assert.ok(collector.metrics().length > 0);
    assertWithoutAny(exportedTo(collector), secrets(), 'an export');
  });
});
