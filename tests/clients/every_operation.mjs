// A gateway and a simulator for tests that call the typed methods of all operations. The simulator's answers have every
// member.
import assert from 'node:assert/strict';
import { asSent } from '../end_to_end/client_stamper.mjs';
import { grantOf, startStack } from '../end_to_end/harness.mjs';
import * as testing from '../simulator/testing.mjs';
import { inputsOf } from './operation_inputs.mjs';
import { methodAt, optionAt, pathOf, requestAt, typedPaths } from './typed_messages.mjs';

const { ORGANIZATION: organizationId } = testing;

/** The path of the keys that sign webhooks. No client library calls it. */
export const KEY_SET = '/public/v1/discovery/webhooks/jwks';

/** The paths of the votes. They fail: the activity of a vote must exist, even if no other identifier needs to exist. */
export const VOTES = ['/public/v1/submit/approve_activity', '/public/v1/submit/reject_activity'];

/** Most enums of answers do not have more values than this, and no oneof has more members. */
const CHOICES = 8;

/**
 * Starts both for the test `t`, for a caller that may call everything, with these settings of the gateway.
 * @returns {Promise<{simulator: object, gateway: object, callTyped: Function, answers: Function}>}
 */
export async function startForEveryOperation(t, settings = {}) {
  const caller = {
    name: 'caller',
    loopback: true,
    grants: [grantOf(typedPaths.filter((path) => path !== KEY_SET).map(methodAt))],
  };
  const { simulator, gateway } = await startStack(t, {
    simulator: { references: 'any', answers: 'full', operator: 'turnkey' },
    config: { callers: [caller], operator_name: 'turnkey', ...settings },
  });

  /** Calls the typed method with the message that has the members of `input`. Returns the response; votes have none. */
  async function callTyped(path, input) {
    const operation = { method: methodAt(path), stampedByClient: optionAt(path).stamped_by_client };
    const request = await asSent(gateway, operation, requestAt(path, input));
    const call = gateway.call(operation.method, request);
    if (!VOTES.includes(path)) return call;
    await assert.rejects(call, /no such activity/);
    return undefined;
  }

  /**
   * Calls every typed method except the votes, for each choice of the enums' values and of the oneofs' members. Yields
   * upstream's answer, as JSON, and the gateway's response.
   */
  async function* answers() {
    const apiKey = testing.apiKeyNamed('gateway p256');
    for (let choice = 0; choice < CHOICES; ++choice) {
      simulator.change({ choice });
      for (const path of typedPaths.filter((each) => each !== KEY_SET && !VOTES.includes(each))) {
        const [{ input }] = inputsOf(path, { organizationId, choice });
        const response = await callTyped(path, input);
        // Upstream gives the same answer to the same bytes and the same stamp.
        const { json } = await testing.post(simulator, pathOf(path), simulator.requests().at(-1).body, { apiKey });
        yield { path, json, response };
      }
    }
  }

  return { simulator, gateway, callTyped, answers };
}

/** The number of texts, numbers and truth values in a JSON value. */
export const countValues = (value) =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum, inner) => sum + countValues(inner), 0)
    : 1;

/** The value without members that are false or empty, which many fields cannot distinguish from absent ones. */
export function withoutEmpty(value) {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, withoutEmpty(member)]);
  const isEmpty = (member) => !member || (typeof member === 'object' && Object.keys(member).length === 0);
  return Object.fromEntries(members.filter(([, member]) => !isEmpty(member)));
}
