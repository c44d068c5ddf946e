// Certificates, tokens and stamps.
import { ORGANIZATION, UNREGISTERED, apiKeyNamed } from '../../simulator/testing.mjs';
import { any, between, partly } from '../matching.mjs';
import { RENAMED, query, rename, renamed } from './samples.mjs';

const certified = [{ trusts: true }, { certifies: 'first' }];
const event = (event_id) => ({ event: { event_id, cursor: any } });
const NOT_RECOGNIZED = {
  error: partly({ code: 'UNAUTHENTICATED', domain: 'stampgate', reason: 'CALLER_NOT_RECOGNIZED' }),
};
/** The error of a submit whose handshake fails. It ends long before its deadline. */
const noHandshake = {
  do: 'submit',
  ...rename(),
  deadline_ms: 120_000,
  gives: { error: partly({ code: 'UNAVAILABLE' }) },
  tookMs: between(0, 90_000),
};
const { publicKey, privateKey } = apiKeyNamed('end user 1');
const apiKey = { public: publicKey, private: privateKey };

/** @type {import('../judge.mjs').Case[]} */
export default [
  {
    name: 'a client certificate identifies the caller',
    stack: 'tls',
    before: certified,
    steps: [
      { do: 'call', ...query, gives: { response: any } },
      { do: 'submit', ...rename(), gives: renamed() },
      { received: { activities: 1 } },
    ],
  },
  {
    name: 'a client certificate that was replaced on the disk is used after the next connection',
    stack: 'tls',
    own: true,
    before: certified,
    steps: [
      { do: 'call', ...query, gives: { response: any } },
      { certifies: 'second' },
      { kill: 'gateway' },
      { callers: ['second'] },
      { start: 'gateway' },
      { do: 'submit', ...rename(), gives: renamed() },
    ],
  },
  {
    name: 'connections over TLS that break before the handshake do not end a submit',
    stack: 'tls',
    connect: { through: 'proxy' },
    before: [...certified, { breaks: { connections: 5 } }],
    steps: [
      { do: 'submit', ...rename(), deadline_ms: 30_000, gives: renamed() },
      { received: { operations: [RENAMED], activities: 1 } },
    ],
  },
  {
    name: 'a certificate of another issuer ends a submit soon, and not at its deadline',
    stack: 'tls',
    own: true,
    before: [{ trusts: true }, { certifies: 'stranger' }],
    steps: [noHandshake, { received: { operations: [] } }],
  },
  {
    name: 'a gateway that the driver does not trust ends a submit soon, and not at its deadline',
    stack: 'tls',
    own: true,
    before: [{ trusts: false }, { certifies: 'first' }],
    steps: [noHandshake, { received: { operations: [] } }],
  },
  {
    name: 'a certificate that names no caller ends a submit soon, and not at its deadline',
    stack: 'tls',
    own: true,
    config: { callers: [{ name: 'other', dns_names: ['other.example'], grants: [] }] },
    before: certified,
    steps: [noHandshake, { received: { operations: [] } }],
  },
  {
    name: 'a bearer token of a file identifies the caller, and a new token of the file is used for the next call',
    stack: 'tokens',
    own: true,
    connect: { token: true },
    before: [...certified, { writesToken: 'first token' }],
    steps: [
      { do: 'call', ...query, gives: { response: any } },
      { acceptsToken: 'second token' },
      { do: 'submit', ...rename(), gives: NOT_RECOGNIZED },
      { writesToken: 'second token' },
      { do: 'submit', ...rename(), gives: renamed() },
      { received: { bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'a token that expires ends no subscription: it resumes with the new token of the file',
    stack: 'tokens',
    own: true,
    connect: { token: true },
    events: { heartbeat_interval: '100ms' },
    before: [...certified, { writesToken: true }],
    steps: [
      { delivers: { ids: ['1'] } },
      { do: 'subscribe', id: 's', request: { end: 'LOG_END_EARLIEST' }, cursor: null, events: 2 },
      { reads: [event('1')] },
      { expires: true },
      { writesToken: true },
      { delivers: { ids: ['2'] } },
      { reads: [event('2'), { done: true }] },
    ],
  },
  {
    name: 'a token that has expired is UNAUTHENTICATED until the file has a new one',
    stack: 'tokens',
    own: true,
    connect: { token: true },
    before: [...certified, { writesToken: true }],
    steps: [
      { do: 'call', ...query, gives: { response: any } },
      { expires: true },
      { do: 'call', ...query, gives: NOT_RECOGNIZED },
      { writesToken: true },
      { do: 'call', ...query, gives: { response: any } },
    ],
  },
  {
    name: 'a prepared request that an API key stamps arrives with its stamp',
    stack: 'plain',
    steps: [
      {
        do: 'prepare',
        method: 'AuthenticationService/StampLogin',
        request: { organization_id: ORGANIZATION, parameters: { public_key: `02${'1f'.repeat(32)}` } },
        api_key: apiKey,
        gives: {
          response: { activity: partly({ status: 'ACTIVITY_STATUS_COMPLETED', result: { stamp_login_result: any } }) },
        },
      },
      { received: { operations: ['stamp_login'], activities: 1 } },
      { stampedBy: publicKey },
    ],
  },
  {
    name: 'a stamp of an unregistered key is UNAUTHENTICATED with the domain of upstream',
    stack: 'plain',
    steps: [
      {
        do: 'prepare',
        ...rename(),
        api_key: { public: UNREGISTERED.publicKey, private: UNREGISTERED.privateKey },
        gives: { error: partly({ domain: 'upstream' }) },
      },
      { received: { operations: [RENAMED], activities: 0 } },
    ],
  },
  {
    name: 'a request that Prepare refuses is an error with violations, and nothing is sent',
    stack: 'plain',
    steps: [
      {
        do: 'prepare',
        method: rename().method,
        request: { organization_id: ORGANIZATION },
        api_key: apiKey,
        gives: {
          error: partly({
            code: 'INVALID_ARGUMENT',
            reason: 'INVALID_REQUEST',
            violations: [{ field: 'parameters', description: any }],
          }),
        },
      },
      { received: { operations: [] } },
    ],
  },
];
