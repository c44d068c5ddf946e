// GeneralService sends general operations, whose parameters are JSON text. It refuses the typed operations of the first
// release. It carries the other typed operations, under the rules of their methods.
import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { code } from '../clients/gateway.mjs';
import { inputsOf } from '../clients/operation_inputs.mjs';
import { methodAt, pathOf, typedPaths } from '../clients/typed_messages.mjs';
import { ORGANIZATION, apiKeyNamed, readVectors, stampOf } from '../simulator/testing.mjs';
import { ALL_DANGEROUS_FIELDS, freeCaller, startStack } from './harness.mjs';
import { logLines } from './log_lines.mjs';
import { RECORDED_MS, operations as specified } from './operations.mjs';
import { reconfigure } from './policy_callers.mjs';
import { STAMPED_BY_CLIENT } from './policy_oracle.mjs';

const LONGEST = { path: 'a'.repeat(64), activity_type: `ACTIVITY_TYPE_${'A'.repeat(80)}` };

const inputAt = (path, wanted) =>
  [...inputsOf(path, { organizationId: ORGANIZATION })].find(({ name }) => name === wanted).input;

/** The typed operations of the first release: those of the specification without the calls of ActivityService. */
const operations = specified.filter(({ method }) => !method.startsWith('ActivityService/'));

/** The typed operations that the first release does not have: name, key, and activity type of a submit. */
const laterOperations = typedPaths
  .filter((path) => !path.endsWith('/jwks') && !operations.some((each) => each.path === path))
  .map((path) => ({
    ...{ name: pathOf(path).split('/').at(-1), path, method: methodAt(path) },
    type: inputAt(path, 'least').type,
  }));

const pairOf = ({ name, type }) => ({ path: name, ...(type && { activity_type: type }) });

const callers = freeCaller(LONGEST, ...laterOperations.map(pairOf));
callers[0].grants[0].dangerous_fields = ALL_DANGEROUS_FIELDS;
const { simulator, gateway } = await startStack({ after }, { config: { callers } });

beforeEach(() => simulator.reset());

const SUBMIT = 'GeneralService/SubmitOperation';
const QUERY = 'GeneralService/QueryOperation';

const submitRequest = (changes) => ({
  organization_id: ORGANIZATION,
  path: 'not_yet_known',
  activity_type: 'ACTIVITY_TYPE_NOT_YET_KNOWN',
  parameters: '{}',
  ...changes,
});

const queryRequest = (changes) => ({ organization_id: ORGANIZATION, path: 'not_yet_known', ...changes });

/** Makes the simulator answer the operation `not_yet_known` with `body`: it does not know this operation either. */
const answerWith = (body) => simulator.addFaults([{ kind: 'status', status: 200, body }]);

const sentBody = () => simulator.requests().at(-1).body;

describe('the gateway sends the recorded body:', () => {
  for (const { operation, request } of readVectors('sdk-requests.json').requests) {
    if (operations.some(({ name }) => name === operation)) continue;
    test(operation, async () => {
      simulator.change({ clockOffsetMs: RECORDED_MS + 1 - Date.now() });
      const { organizationId, type, parameters, timestampMs, generateAppProofs, ...rest } = JSON.parse(request.body);
      const common = { organization_id: organizationId, path: operation };
      // The simulator does not know this type of activity. The test checks only the request that the simulator
      // received.
      const ignore = () => {};
      if (type === undefined) {
        await gateway.call(QUERY, { ...common, parameters: JSON.stringify(rest) }).catch(ignore);
      } else {
        const envelope = { activity_type: type, timestamp_ms: timestampMs, generate_app_proofs: generateAppProofs };
        const submit = { ...common, ...envelope, parameters: JSON.stringify(parameters) };
        await gateway.call(SUBMIT, submit).catch(ignore);
      }
      const [sent] = simulator.requests();
      assert.equal(sent.path, request.path);
      assert.equal(sent.verdict.outcome, 'accepted');
      assert.deepEqual(JSON.parse(sent.body), JSON.parse(request.body));
    });
  }
});

test('a submit that the specification mentions without details is carried out, once for each timestamp', async () => {
  const request = {
    organization_id: ORGANIZATION,
    path: 'init_otp',
    activity_type: 'ACTIVITY_TYPE_INIT_OTP_V3',
    timestamp_ms: String(Date.now()),
    parameters: JSON.stringify({ otpType: 'OTP_TYPE_EMAIL', contact: 'a@example.com', appName: 'app' }),
  };
  const first = await gateway.call(SUBMIT, request);
  const { activity } = JSON.parse(first.answer);
  assert.equal(activity.status, 'ACTIVITY_STATUS_COMPLETED');
  assert.deepEqual(await gateway.call(SUBMIT, request), first);
  // Uses the result in a call of a typed operation.
  const [{ otpId: otp_id }] = Object.values(activity.result);
  await gateway.call('AuthenticationService/VerifyOtp', {
    organization_id: ORGANIZATION,
    parameters: { otp_id, encrypted_otp_bundle: 'b' },
  });
});

/** JSON text that would change if the gateway parsed it to numbers or a Struct. */
const SPELLED =
  '{"a":1.50,"b":1E+2,"c":-0,"d":18446744073709551617,"e":[0.1e-7],"f":{"g":1e400},"":null,"é":"\\u00e9"}';

describe('JSON text keeps its spelling', () => {
  test('in the parameters of a submit', async () => {
    answerWith('{}');
    await gateway.call(SUBMIT, submitRequest({ parameters: SPELLED }));
    assert.ok(sentBody().includes(`"parameters":${SPELLED}`), sentBody());
  });

  test('in the members of a query', async () => {
    answerWith('{}');
    const members = SPELLED.replace('"é"', '"z"');
    await gateway.call(QUERY, queryRequest({ parameters: members }));
    assert.equal(sentBody(), `{"organizationId":"${ORGANIZATION}",${members.slice(1)}`);
  });

  test('but a member of a query whose name is not ASCII is refused', async () => {
    for (const parameters of ['{"é":1}', '{"parameter\\u017f":{}}', '{"\u212Aey":1}']) {
      const error = await gateway.refusal(QUERY, queryRequest({ parameters }));
      assert.equal(error.code, code.INVALID_ARGUMENT, parameters);
    }
  });

  for (const [method, request] of [
    [SUBMIT, submitRequest()],
    [QUERY, queryRequest()],
  ]) {
    test(`in the answer of ${method}`, async () => {
      answerWith(SPELLED);
      assert.equal((await gateway.call(method, request)).answer, SPELLED);
    });
  }
});

test('a query without parameters contains only the organization', async () => {
  for (const parameters of [undefined, '{}', ' { } ']) {
    answerWith('{}');
    await gateway.call(QUERY, queryRequest({ ...(parameters !== undefined && { parameters }) }));
    assert.deepEqual(JSON.parse(sentBody()), { organizationId: ORGANIZATION });
  }
});

/** Checks that the call is refused with exactly these fields, and that upstream gets no request and no connection. */
async function isRefused(method, request, ...fields) {
  const { requests, connections } = simulator.stats();
  const error = await gateway.refusal(method, request);
  const what = JSON.stringify(request).slice(0, 200);
  assert.equal(error.code, code.INVALID_ARGUMENT, what);
  assert.deepEqual([error.info.domain, error.info.reason], ['stampgate', 'INVALID_REQUEST'], what);
  assert.deepEqual(
    error.badRequest.field_violations.map(({ field }) => field),
    fields,
    what,
  );
  assert.deepEqual([simulator.stats().requests, simulator.stats().connections], [requests, connections]);
}

/** The request of GeneralService for a body of this operation. */
function generalRequest({ name, type }, { organizationId, ...body }) {
  const common = { organization_id: organizationId, path: name };
  if (type === undefined) return { ...common, parameters: JSON.stringify(body) };
  return {
    ...common,
    activity_type: type,
    timestamp_ms: body.timestampMs,
    ...('generateAppProofs' in body && { generate_app_proofs: body.generateAppProofs }),
    parameters: JSON.stringify(body.parameters),
  };
}

const generalMethod = ({ type }) => (type === undefined ? QUERY : SUBMIT);

describe('an operation that became typed after the first release:', () => {
  test('each has the same body as the call of its own method', async () => {
    assert.equal(laterOperations.length, 180);
    for (const operation of laterOperations.filter(({ method }) => !STAMPED_BY_CLIENT.includes(method))) {
      for (const extent of ['full', 'least']) {
        const input = inputAt(operation.path, extent);
        // Upstream refuses some of these requests, because the objects that they name do not exist.
        await gateway.call(generalMethod(operation), generalRequest(operation, input)).catch(() => {});
        const [sent, ...others] = simulator.requests();
        assert.equal(sent?.path, pathOf(operation.path), operation.path);
        assert.deepEqual(JSON.parse(sent.body), input);
        assert.deepEqual(others, []);
        simulator.reset();
      }
    }
  });

  test('a submit with another version of the activity type is refused, and so is a query of a submit', async () => {
    for (const { name, type } of laterOperations.filter((operation) => operation.type !== undefined)) {
      const plain = type.replace(/_V[0-9]+$/, '');
      for (const activity_type of [plain, `${plain}_V2`, `${plain}_V9`, 'ACTIVITY_TYPE_NOT_YET_KNOWN']) {
        if (laterOperations.some((each) => each.type === activity_type)) continue;
        const fields = activity_type.endsWith('NOT_YET_KNOWN') ? ['path'] : ['path', 'activity_type'];
        await isRefused(SUBMIT, submitRequest({ path: name, activity_type }), ...fields);
      }
      await isRefused(SUBMIT, submitRequest({ activity_type: type }), 'activity_type');
      await isRefused(QUERY, queryRequest({ path: name }), 'path');
    }
  });

  test('the rules of the method apply to the parameters', async () => {
    const init = { path: 'init_otp', activity_type: 'ACTIVITY_TYPE_INIT_OTP_V3' };
    const parameters = { otpType: 'OTP_TYPE_EMAIL', contact: 'c', appName: 'a' };
    const refused = (changes, ...fields) =>
      isRefused(
        SUBMIT,
        submitRequest({ ...init, parameters: JSON.stringify({ ...parameters, ...changes }) }),
        ...fields,
      );
    await refused({ contact: undefined, otpType: undefined }, 'parameters.otp_type', 'parameters.contact');
    await refused({ contact: '' }, 'parameters.contact');
    await refused({ stranger: 1 }, 'parameters');
    await refused({ contact: 1 }, 'parameters');
    await refused({ alphanumeric: 'true' }, 'parameters');
    const deposit = { wrapperAddress: '0x01', signWith: '0x02', chainCaip2: 'eip155:1', assets: '1e5' };
    const earn = { path: 'earn_deposit', activity_type: 'ACTIVITY_TYPE_EARN_DEPOSIT' };
    await isRefused(SUBMIT, submitRequest({ ...earn, parameters: JSON.stringify(deposit) }), 'parameters.assets');
  });

  test('a grant must list a dangerous field, as for the method', async () => {
    const deletion = (deleteWithoutExport) => ({
      ...{ organization_id: ORGANIZATION, path: 'delete_wallets', activity_type: 'ACTIVITY_TYPE_DELETE_WALLETS' },
      parameters: JSON.stringify({ walletIds: ['w'], deleteWithoutExport }),
    });
    const grant = { ...callers[0].grants[0], dangerous_fields: ['debug_mode'] };
    await reconfigure(gateway, { callers: [{ ...callers[0], grants: [grant] }] });
    const error = await gateway.refusal(SUBMIT, deletion(true));
    assert.deepEqual([error.code, error.info.reason], [code.PERMISSION_DENIED, 'DENIED_BY_POLICY']);
    assert.equal(simulator.stats().requests, 0);
    await gateway.call(SUBMIT, deletion(false)).catch(() => {});
    await reconfigure(gateway, { callers });
    await gateway.call(SUBMIT, deletion(true)).catch(() => {});
    const sent = simulator.requests().map(({ body }) => JSON.parse(body).parameters.deleteWithoutExport);
    assert.deepEqual(sent, [false, true]);
  });

  test('a client must stamp the requests that only clients stamp', async () => {
    const apiKey = apiKeyNamed('end user 1');
    const stamped = laterOperations.filter(({ method }) => STAMPED_BY_CLIENT.includes(method));
    assert.equal(stamped.length, 3);
    for (const operation of stamped) {
      const input = inputAt(operation.path, 'least');
      await isRefused(SUBMIT, generalRequest(operation, input), 'client_stamp');
      const body = Buffer.from(JSON.stringify(input));
      const request = { path: operation.name, client_stamp: { body, api_key: stampOf(body, apiKey) } };
      await gateway.call(SUBMIT, request).catch(() => {});
      assert.equal(simulator.requests().at(-1).body, body.toString());
      simulator.reset();
    }
  });

  test('the log names the method that callers should call', async () => {
    await gateway.call(QUERY, { organization_id: ORGANIZATION, path: 'whoami' });
    const [{ own_method }] = await logLines(gateway, 1, 'own_method_exists');
    assert.match(own_method, /^\/stampgate\.v1\.\w+Service\/\w+$/);
  });
});

describe('the general service refuses a typed operation of the first release:', () => {
  for (const { name, type } of operations) {
    test(name, async () => {
      await isRefused(SUBMIT, submitRequest({ path: name }), 'path');
      await isRefused(QUERY, queryRequest({ path: name }), 'path');
      if (type === undefined) return;
      const plain = type.replace(/_V[0-9]+$/, '');
      for (const activity_type of [type, plain, `${plain}_V1`, `${plain}_V2`, `${plain}_V3`, `${plain}_V1234567890`]) {
        await isRefused(SUBMIT, submitRequest({ activity_type }), 'activity_type');
      }
      await isRefused(SUBMIT, submitRequest({ path: name, activity_type: type }), 'path', 'activity_type');
    });
  }

  test('the key set of webhooks', async () => {
    await isRefused(QUERY, queryRequest({ path: 'jwks' }), 'path');
  });

  test('and a path that is more than the last segment', async () => {
    const ways = ['/', '../submit/create_policies', 'create_policies/', './create_policies', 'create%5fpolicies'];
    const others = ['create_policies?', 'a#', 'a b', 'a\n', 'CREATE_POLICIES', 'create-policies', 'é', 'a'.repeat(65)];
    for (const path of [...ways, ...others, 'a\u0000']) {
      await isRefused(SUBMIT, submitRequest({ path }), 'path');
      await isRefused(QUERY, queryRequest({ path }), 'path');
    }
  });

  test('and a type that has not the form of an activity type', async () => {
    const prefix = 'ACTIVITY_TYPE_';
    const ways = ['create_policies', 'CREATE_POLICIES', 'activity_type_create_policies', ` ${prefix}CREATE_POLICIES`];
    for (const activity_type of [...ways, prefix, `${prefix}A B`, `${prefix}é`, `${prefix}${'A'.repeat(81)}`]) {
      await isRefused(SUBMIT, submitRequest({ activity_type }), 'activity_type');
    }
  });

  test('but accepts the longest path and the longest type', async () => {
    answerWith('{}');
    await gateway.call(SUBMIT, submitRequest(LONGEST));
    assert.equal(simulator.requests()[0].path, `/public/v1/submit/${LONGEST.path}`);
    assert.equal(JSON.parse(sentBody()).type, LONGEST.activity_type);
  });

  test('and a query with the members of a submit', async () => {
    const names = ['organizationId', 'type', 'timestampMs', 'parameters'];
    for (const name of [...names, 'organization_id', 'timestamp_ms', 'Type', 'PARAMETERS']) {
      for (const spelling of [name, `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`]) {
        for (const value of ['"x"', 'null', '{}']) {
          await isRefused(QUERY, queryRequest({ parameters: `{"a":1,"${spelling}":${value}}` }), 'parameters');
        }
      }
    }
  });

  test('but accepts such members at a deeper level of a query', async () => {
    answerWith('{}');
    const parameters = '{"filter":{"type":"t","organizationId":"o"},"types":1}';
    await gateway.call(QUERY, queryRequest({ parameters }));
    assert.deepEqual(JSON.parse(sentBody()), { organizationId: ORGANIZATION, ...JSON.parse(parameters) });
  });
});

test('text that is not exactly one JSON object is refused', async () => {
  const deep = (depth) => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  const texts = [
    ...['[]', 'null', '"{}"', '1', '{', '{}}', '{}{}', '{} x', '\ufeff{}', '{"a":1,}', '{,}', '{a:1}', "{'a':1}"],
    ...['{"a":1,"a":2}', '{"a":{"b":1,"\\u0062":2}}', '{"a":01}', '{"a":.5}', '{"a":1.}', '{"a":+1}', '{"a":NaN}'],
    ...['{"a":0x1}', '{"a":tru}', '{"a":"\u0001"}', '{"a":"\\x"}', '{"a":1}//', deep(10_000)],
  ];
  for (const parameters of ['', ...texts]) {
    await isRefused(SUBMIT, submitRequest({ parameters }), 'parameters');
    await isRefused(QUERY, queryRequest({ parameters }), 'parameters');
  }
});

test('an error does not quote the text that has the fault', async () => {
  const error = await gateway.refusal(SUBMIT, submitRequest({ parameters: '{"token":"hunter2"' }));
  assert.ok(!error.statusBytes.includes('hunter2'));
  assert.ok(!gateway.output.includes('hunter2'));
});

test('the error of a request lists all its faults', async () => {
  const request = { organization_id: '', path: 'create_policies', activity_type: 'x', parameters: '[]' };
  await isRefused(SUBMIT, request, 'organization_id', 'parameters', 'path', 'activity_type');
});
