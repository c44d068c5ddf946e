// Every case, in the order of the table.
import { noEnvoy } from '../envoy.mjs';
import calls from './calls.mjs';
import connections from './connections.mjs';
import consumers from './consumers.mjs';
import credentials from './credentials.mjs';
import envoy from './envoy.mjs';
import errors from './errors.mjs';
import submits from './submits.mjs';
import subscriptions from './subscriptions.mjs';

/** @type {import('../judge.mjs').Case[]} */
export const cases = [
  ...calls,
  ...errors,
  ...submits,
  ...connections,
  ...subscriptions,
  ...consumers,
  ...credentials,
  ...(noEnvoy ? [] : envoy),
];
