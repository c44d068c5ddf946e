// Required texts that upstream accepts empty, and required lists without elements, arrive upstream as they are: from a
// typed call, from a request with a client's stamp, and from GeneralService.
import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { code } from '../clients/gateway.mjs';
import { inputsOf, isAccepted, operationOf } from '../clients/operation_inputs.mjs';
import * as typed from '../clients/typed_messages.mjs';
import { ORGANIZATION, apiKeyNamed, stampOf } from '../simulator/testing.mjs';
import { grantOf, startStack } from './harness.mjs';
import { operations } from './operations.mjs';

const { fieldPathAt, jsonNameOf, methodAt, optionAt, optionOf, pathOf, requestAt, requestTypeAt, typedPaths } = typed;

/** The operations that GeneralService does not carry. */
const SPECIFIED = operations.map(({ path }) => path);

const lastOf = (path) => pathOf(path).split('/').at(-1);

/** The submits with their parameters: a required member of each, which may be empty, and its empty value. */
const CASES = typedPaths
  .filter((path) => optionAt(path).activity_type)
  .flatMap((path) => {
    const { parameters } = requestTypeAt(path).fields;
    const mayBeEmpty = ({ repeated, options }) =>
      repeated ? !optionOf(options, 'min_elements') : optionOf(options, 'may_be_empty');
    return parameters
      .resolve()
      .resolvedType.fieldsArray.map((field) => field.resolve())
      .filter((field) => optionOf(field.options, 'required') && mayBeEmpty(field))
      .map((field) => ({ path, name: jsonNameOf(field), empty: field.repeated ? [] : '' }));
  });

const pairs = CASES.filter(({ path }) => !SPECIFIED.includes(path)).map(({ path }) => ({
  path: lastOf(path),
  activity_type: operationOf(path).type,
}));
const grant = grantOf([...new Set(CASES.map(({ path }) => methodAt(path)))]);
const caller = { name: 'caller', loopback: true, grants: [{ ...grant, general_operations: pairs }] };
const { simulator, gateway } = await startStack(
  { after },
  { simulator: { references: 'any' }, config: { callers: [caller] } },
);
beforeEach(() => simulator.reset());

/** The body of a submit whose member `name` is empty. */
function emptied({ path, name, empty }) {
  const [{ input }] = inputsOf(path, { organizationId: ORGANIZATION });
  input.parameters[name] = empty;
  assert.ok(isAccepted(path, input), `upstream refuses ${path} ${name}`);
  return input;
}

/** Fails unless upstream has received one request, whose member `name` has this value. */
function assertReceived(path, name, value) {
  const [sent, ...others] = simulator.requests();
  assert.deepEqual([sent?.path, others], [pathOf(path), []], `${path} ${name}`);
  assert.deepEqual(sent.verdict.outcome, 'accepted', path);
  assert.deepEqual(JSON.parse(sent.body).parameters[name], value, `${path} ${name}`);
}

test('the texts that may be empty are these', () => {
  const texts = CASES.filter(({ empty }) => empty === '');
  assert.deepEqual(texts.map(({ path, name }) => `${lastOf(path)} ${name}`).sort(), [
    'create_policy notes',
    'create_sub_organization subOrganizationName',
    'oauth_login publicKey',
    'otp_auth targetPublicKey',
    'otp_login publicKey',
    'set_organization_feature value',
    'stamp_login publicKey',
    'update_user_email userEmail',
    'update_user_phone_number userPhoneNumber',
  ]);
  assert.ok(CASES.some(({ path }) => path.endsWith('/delete_api_keys')));
});

describe('an empty member arrives upstream', () => {
  for (const each of CASES) {
    const { path, name, empty } = each;
    const stampedByClient = optionAt(path).stamped_by_client;

    test(`${lastOf(path)} ${name}`, async () => {
      const input = emptied(each);
      const request = requestAt(path, input);
      if (!stampedByClient) {
        await gateway.call(methodAt(path), request);
        assertReceived(path, name, empty);
      }

      simulator.reset();
      const body = Buffer.from(JSON.stringify(input));
      const stamp = stampOf(body, apiKeyNamed('gateway p256'));
      await gateway.call(methodAt(path), { client_stamp: { body, api_key: stamp } });
      assertReceived(path, name, empty);
      assert.equal(simulator.requests()[0].body, body.toString());

      if (stampedByClient || SPECIFIED.includes(path)) return;
      simulator.reset();
      await gateway.call('GeneralService/SubmitOperation', {
        organization_id: ORGANIZATION,
        path: lastOf(path),
        activity_type: input.type,
        parameters: JSON.stringify(input.parameters),
      });
      assertReceived(path, name, empty);
    });
  }
});

test('a text that may be empty must be set nevertheless', async () => {
  for (const { path, name } of CASES.filter(({ empty }) => empty === '')) {
    const [{ input }] = inputsOf(path, { organizationId: ORGANIZATION });
    delete input.parameters[name];
    const body = Buffer.from(JSON.stringify(input));
    const stamped = { client_stamp: { body, api_key: stampOf(body, apiKeyNamed('gateway p256')) } };
    for (const request of [stamped, ...(optionAt(path).stamped_by_client ? [] : [requestAt(path, input)])]) {
      const { code: status, badRequest } = await gateway.refusal(methodAt(path), request);
      assert.equal(status, code.INVALID_ARGUMENT, path);
      const field = fieldPathAt(path, ['parameters', name]);
      const [{ field: found, description }] = badRequest.field_violations;
      // A field without presence cannot show that the body lacks the member, so that the violation is of the body.
      if (found === field) continue;
      assert.equal(found, 'client_stamp.body');
      assert.ok(description.endsWith(`/parameters/${name}`), description);
    }
  }
  assert.deepEqual(simulator.requests(), []);
});
