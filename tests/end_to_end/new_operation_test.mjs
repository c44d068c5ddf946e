// A new operation needs only a proto: no C++, no build and no restart. The gateway reads the operations of the proto in
// tests/operation from a file that its config names.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { addProtos, code } from '../clients/gateway.mjs';
import { checkHealth, describeSymbol, listServices } from '../clients/standard_services.mjs';
import { binary, root } from '../paths.mjs';
import { ORGANIZATION, apiKeyNamed } from '../simulator/testing.mjs';
import { freeCaller, grantOf, putConfig, startStack } from './harness.mjs';
import { reconfigure, reloaded } from './policy_callers.mjs';

addProtos(join(root, 'tests/operation'), ['stampgate/testing/v1/teapot.proto']);

const TEAPOT = binary('tests/operation/teapot.binpb');

const TEAPOT_SERVICE = 'stampgate.testing.v1.TeapotService';

/** The usual callers with a grant that names the operations of the file: no class covers them. */
const BREWERS = freeCaller();
BREWERS[0].grants.push(grantOf([`${TEAPOT_SERVICE}/BrewTea`, `${TEAPOT_SERVICE}/GetTeapot`]));

const { simulator, gateway } = await startStack(
  { after },
  { config: { operator_name: 'Example', operations: [TEAPOT], callers: BREWERS } },
);

beforeEach(() => simulator.reset());

const BREW = 'TeapotService/BrewTea';
const GET = 'TeapotService/GetTeapot';

const parameters = {
  leaves: ['LEAF_GREEN', 'LEAF_BLACK'],
  degrees: 90,
  recipe: 'hunter2',
  guests: '{"n":1.50}',
  blend: '-9223372036854775808',
};

/**
 * Makes the simulator respond with `body`. The simulator does not know the operation, and checks only headers and
 * stamp.
 */
const answerWith = (body, status = 200) => simulator.addFaults([{ kind: 'status', status, body }]);

test('a submit is rendered and stamped, and its response is translated', async () => {
  const intent =
    '{"leaves":["LEAF_GREEN","leaf:black"],"degrees":90,"recipe":"hunter2","guests":{"n":1.50},' +
    '"exampleBlend":"-9223372036854775808"}';
  answerWith(
    `{"activity":{"id":"a","status":"BREWED","intent":${intent},"result":[{"millilitres":"18446744073709551615"},{}],` +
      '"brewedAt":{"seconds":"1700000000","nanos":"5"},"aroma":[1e400]}}',
  );
  const response = await gateway.call(BREW, { organization_id: ORGANIZATION, parameters, timestamp_ms: '7' });

  const [request] = simulator.requests();
  assert.equal(request.path, '/public/v1/submit/brew_tea');
  assert.equal(request.publicKey, apiKeyNamed('gateway p256').publicKey);
  assert.equal(
    request.body,
    '{"type":"ACTIVITY_TYPE_BREW_TEA_V3","timestampMs":"7",' +
      `"organizationId":"${ORGANIZATION}","parameters":${intent}}`,
  );
  assert.deepEqual(response, {
    activity: {
      id: 'a',
      status: 'BREWED',
      intent: parameters,
      result: [{ millilitres: '18446744073709551615' }, {}],
      brewed_at: { seconds: '1700000000', nanos: 5 },
    },
    unrecognized: { '/activity/aroma': '[1e400]' },
  });
});

test('the gateway chooses its timestampMs too', async () => {
  answerWith('{"activity":{}}');
  await gateway.call(BREW, { organization_id: ORGANIZATION, parameters });
  const { timestampMs } = JSON.parse(simulator.requests()[0].body);
  assert.ok(Math.abs(Number(timestampMs) - Date.now()) < 60_000);
});

test('a query is rendered and stamped, and its response is translated', async () => {
  answerWith('{"shortAndStout":false}');
  const response = await gateway.call(GET, { organization_id: ORGANIZATION, teapot_id: 't' });
  const [request] = simulator.requests();
  assert.equal(request.path, '/public/v1/query/get_teapot');
  assert.equal(request.body, `{"organizationId":"${ORGANIZATION}","teapotId":"t"}`);
  assert.equal(request.publicKey, apiKeyNamed('gateway p256').publicKey);
  assert.deepEqual(response, { short_and_stout: false });
});

test('the rules in the proto are enforced', async () => {
  const error = await gateway.refusal(BREW, { parameters: { leaves: [0, 'LEAF_GREEN', 3], degrees: 101 } });
  assert.equal(error.code, code.INVALID_ARGUMENT);
  assert.deepEqual(
    error.badRequest.field_violations.map(({ field }) => field),
    ['organization_id', 'parameters.leaves[0]', 'parameters.leaves[2]', 'parameters.degrees'],
  );
  assert.equal(simulator.stats().requests, 0);
});

test("secret fields are removed from upstream's error texts", async () => {
  answerWith('{"code":3,"message":"I will not brew hunter2"}', 418);
  const error = await gateway.refusal(BREW, { organization_id: ORGANIZATION, parameters });
  assert.equal(error.info.domain, 'upstream');
  assert.match(error.details, /I will not brew/);
  assert.ok(!error.statusBytes.includes('hunter2'));
});

test('a submit without a response has an unknown outcome', async () => {
  simulator.addFaults([{ kind: 'nonJson' }]);
  const error = await gateway.refusal(BREW, { organization_id: ORGANIZATION, parameters, timestamp_ms: '8' });
  assert.equal(error.code, code.UNKNOWN);
  assert.equal(error.info.reason, 'OUTCOME_UNKNOWN');
  assert.equal(error.info.metadata.timestamp_ms, '8');
});

test('the general service refuses the operation, which it has never carried', async () => {
  const request = { organization_id: ORGANIZATION, path: 'p', activity_type: 'ACTIVITY_TYPE_P', parameters: '{}' };
  for (const changes of [{ path: 'brew_tea' }, { path: 'get_teapot' }, { activity_type: 'ACTIVITY_TYPE_BREW_TEA' }]) {
    const error = await gateway.refusal('GeneralService/SubmitOperation', { ...request, ...changes });
    assert.equal(error.code, code.INVALID_ARGUMENT);
  }
  assert.equal(simulator.stats().requests, 0);
});

test('server reflection lists and describes the operation and all others', async () => {
  const services = await listServices(gateway.client);
  for (const name of [TEAPOT_SERVICE, 'stampgate.v1.PolicyService']) {
    assert.ok(services.includes(name), name);
  }
  const file = await describeSymbol(gateway.client, TEAPOT_SERVICE);
  assert.equal(file.name, 'stampgate/testing/v1/teapot.proto');
  assert.deepEqual(
    file.service[0].method.map(({ name }) => name),
    ['BrewTea', 'GetTeapot'],
  );
});

test('a reload adds the operations without a right of any caller, and a later one removes them', async (t) => {
  const { gateway: running, simulator: upstream } = await startStack(t, { config: { reload_interval: '100ms' } });
  const services = async () => (await listServices(running.client)).includes(TEAPOT_SERVICE);
  assert.equal(
    (await running.refusal(GET, { organization_id: ORGANIZATION, teapot_id: 't' })).code,
    code.UNIMPLEMENTED,
  );
  assert.equal(await services(), false);
  await assert.rejects(checkHealth(running.client, TEAPOT_SERVICE), { code: code.NOT_FOUND });

  await reconfigure(running, { operations: [TEAPOT] });
  assert.equal(
    (await running.refusal(GET, { organization_id: ORGANIZATION, teapot_id: 't' })).code,
    code.PERMISSION_DENIED,
  );
  assert.equal(upstream.stats().requests, 0);

  await reconfigure(running, { callers: BREWERS });
  upstream.addFaults([{ kind: 'status', status: 200, body: '{"shortAndStout":true}' }]);
  const response = await running.call(GET, { organization_id: ORGANIZATION, teapot_id: 't' });
  assert.deepEqual(response, { short_and_stout: true });
  assert.equal(await services(), true);
  assert.equal(await checkHealth(running.client, TEAPOT_SERVICE), 'SERVING');

  await reconfigure(running, { operations: undefined, callers: freeCaller() });
  assert.equal(
    (await running.refusal(GET, { organization_id: ORGANIZATION, teapot_id: 't' })).code,
    code.UNIMPLEMENTED,
  );
  assert.equal(await services(), false);
  assert.equal(await checkHealth(running.client, TEAPOT_SERVICE), 'NOT_SERVING');
  assert.equal(await checkHealth(running.client, 'stampgate.v1.PolicyService'), 'SERVING');
});

test('a reload refuses operations with which the gateway cannot decode events, and keeps those in force', async (t) => {
  const { gateway: running } = await startStack(t, { events: true, config: { reload_interval: '100ms' } });
  const faulty = JSON.stringify({ ...running.config, operations: [binary('tests/operation/faulty_events.binpb')] });
  const { message } = await reloaded(running, () => putConfig(running.configFile, faulty), 'reload_failed');
  assert.equal(message, 'two fields are assigned to events of the type ACTIVITY_UPDATES');

  await reconfigure(running, { operations: [TEAPOT] });
  assert.equal(await checkHealth(running.client, TEAPOT_SERVICE), 'SERVING');
});

test('the other operations still work', async () => {
  const { activity } = await gateway.call('OrganizationService/UpdateOrganizationName', {
    organization_id: ORGANIZATION,
    parameters: { organization_name: 'n' },
  });
  assert.equal(activity.status, 'ACTIVITY_STATUS_COMPLETED');
});
