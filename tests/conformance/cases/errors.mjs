// Errors of every class, with their details.
import { ORGANIZATION, identifier, subOrganization } from '../../simulator/testing.mjs';
import { any, between, partly, text } from '../matching.mjs';
import { QUERIED, RENAMED, query, rename, renamed } from './samples.mjs';

const upstream = (code, reason, http_status, more) => ({
  error: { code, domain: 'upstream', reason, message: any, metadata: { http_status }, request_id: any, ...more },
});
const own = (code, reason, more) => ({
  error: { code, domain: 'stampgate', reason, message: any, request_id: any, ...more },
});
const fault = (more) => ({ kind: 'error', echo: false, message: 'upstream says no', ...more });
const REQUEST_ID = text(/^[0-9a-f]{32}$/);

/** Upstream's refusals: the fault, and the error of the driver. None of them is repeated. */
const REFUSALS = {
  'HTTP 400 with violations': [
    fault({ code: 'INVALID_ARGUMENT', errorCode: 'REQUEST_INVALID', fieldViolations: 2 }),
    upstream('INVALID_ARGUMENT', 'REQUEST_INVALID', '400', {
      violations: [
        { field: 'field0', description: 'is refused' },
        { field: 'field1', description: 'is refused' },
      ],
    }),
  ],
  'HTTP 403': [
    fault({ code: 'PERMISSION_DENIED', errorCode: 'REQUEST_NOT_AUTHORIZED' }),
    upstream('PERMISSION_DENIED', 'REQUEST_NOT_AUTHORIZED', '403'),
  ],
  'HTTP 404 without a code': [
    { kind: 'status', status: 404, body: '{"code":5,"message":"no"}' },
    upstream('NOT_FOUND', 'HTTP_404', '404', { message: 'no' }),
  ],
  'HTTP 409': [
    { kind: 'status', status: 409, body: '{"code":10,"message":"no"}' },
    upstream('ABORTED', 'HTTP_409', '409', { message: 'no' }),
  ],
  'HTTP 429 for a hard quota': [
    fault({ code: 'RESOURCE_EXHAUSTED', message: 'user has too many API keys' }),
    upstream('RESOURCE_EXHAUSTED', 'HTTP_429', '429', { message: 'user has too many API keys' }),
  ],
  'HTTP 418': [{ kind: 'status', status: 418, body: '' }, upstream('FAILED_PRECONDITION', 'HTTP_418', '418')],
  "the gateway's key refused": [
    fault({ code: 'UNAUTHENTICATED', errorCode: 'SIGNATURE_INVALID' }),
    own('INTERNAL', 'GATEWAY_CREDENTIAL_REJECTED', {
      metadata: { http_status: '401', upstream_code: 'SIGNATURE_INVALID' },
    }),
  ],
};

/** @type {import('../judge.mjs').Case[]} */
export default [
  {
    name: 'an invalid request is an error with every violation',
    stack: 'plain',
    steps: [
      {
        do: 'submit',
        method: 'PolicyService/CreatePolicies',
        request: { parameters: { policies: [{ policy_name: '', effect: 'EFFECT_ALLOW' }] } },
        gives: own('INVALID_ARGUMENT', 'INVALID_REQUEST', {
          request_id: REQUEST_ID,
          violations: [
            { field: 'organization_id', description: any },
            { field: 'parameters.policies[0].policy_name', description: any },
            { field: 'parameters.policies[0].notes', description: any },
          ],
        }),
      },
      { received: { operations: [] } },
    ],
  },
  {
    name: 'a call that the policy denies is an error with the caller and the class',
    stack: 'plain',
    steps: [
      {
        do: 'call',
        method: 'OrganizationService/GetOrganization',
        request: { organization_id: ORGANIZATION },
        gives: own('PERMISSION_DENIED', 'DENIED_BY_POLICY', {
          metadata: { caller: 'loopback', method: 'OrganizationService/GetOrganization', policy_class: 'dangerous' },
        }),
      },
    ],
  },
  {
    name: 'an organization without a key is an error',
    stack: 'plain',
    config: { keys: [{ name: 'main', file: 'gateway.key', organizations: [subOrganization(1)] }] },
    steps: [{ do: 'submit', ...rename(), gives: own('PERMISSION_DENIED', 'ORGANIZATION_NOT_SERVED') }],
  },
  ...Object.entries(REFUSALS).map(([name, [each, error]]) => ({
    name: `upstream's refusal (${name}) is a typed error, and is not repeated`,
    stack: /** @type {const} */ ('plain'),
    steps: [
      { faults: [{ ...each, times: 2 }] },
      { do: 'submit', ...rename(), gives: error },
      { do: 'call', ...query, gives: error },
      { received: { operations: [RENAMED, QUERIED] } },
    ],
  })),
  {
    name: 'HTTP 500 is an error of a query, and an unknown outcome of a submit on the stub',
    stack: 'plain',
    steps: [
      { faults: [{ ...fault({ code: 'INTERNAL' }), times: 2 }] },
      { do: 'call', ...query, gives: upstream('INTERNAL', 'HTTP_500', '500') },
      {
        do: 'call',
        ...rename(),
        gives: own('UNKNOWN', 'OUTCOME_UNKNOWN', {
          metadata: partly({
            timestamp_ms: text(/^\d{13}$/),
            fingerprint: text(/^sha256:[0-9a-f]{64}$/),
            http_status: '500',
          }),
        }),
      },
      { received: { operations: [QUERIED, RENAMED] } },
    ],
  },
  {
    name: 'a rate limit is an error with the delay of its RetryInfo',
    stack: 'plain',
    steps: [
      {
        faults: [
          fault({ code: 'RESOURCE_EXHAUSTED', errorCode: 'RATE_LIMIT_EXCEEDED', headers: { 'Retry-After': '13' } }),
        ],
      },
      {
        do: 'call',
        ...query,
        gives: upstream('RESOURCE_EXHAUSTED', 'RATE_LIMIT_EXCEEDED', '429', { retry_delay_ms: 13_000 }),
      },
      { received: { operations: [QUERIED] } },
    ],
  },
  {
    name: 'a submit waits out the delay of RetryInfo, and is repeated',
    stack: 'plain',
    steps: [
      {
        faults: [
          fault({ code: 'RESOURCE_EXHAUSTED', errorCode: 'RATE_LIMIT_EXCEEDED', headers: { 'Retry-After': '1' } }),
        ],
      },
      { do: 'submit', ...rename(), gives: renamed(), tookMs: between(1000, 60_000) },
      { received: { operations: [RENAMED, RENAMED], activities: 1 } },
    ],
  },
  {
    name: 'a submit whose RetryInfo is after its deadline ends before it',
    stack: 'plain',
    steps: [
      {
        faults: [
          fault({ code: 'RESOURCE_EXHAUSTED', errorCode: 'RATE_LIMIT_EXCEEDED', headers: { 'Retry-After': '60' } }),
        ],
      },
      {
        do: 'submit',
        ...rename(),
        deadline_ms: 3000,
        gives: upstream('RESOURCE_EXHAUSTED', 'RATE_LIMIT_EXCEEDED', '429', { retry_delay_ms: 60_000 }),
        tookMs: between(0, 60_000),
      },
      { received: { operations: [RENAMED], activities: 0 } },
    ],
  },
  {
    name: 'an unreachable upstream is UNAVAILABLE with RetryInfo',
    stack: 'plain',
    config: { upstream: { base_url: 'http://127.0.0.1:9' } },
    steps: [
      {
        do: 'call',
        ...rename(),
        gives: own('UNAVAILABLE', 'UPSTREAM_UNREACHABLE', { retry_delay_ms: 1000 }),
      },
    ],
  },
  {
    name: 'an unreadable response of a query is an error of the gateway',
    stack: 'plain',
    steps: [
      { faults: [{ kind: 'nonJson' }] },
      { do: 'call', ...query, gives: own('INTERNAL', 'UPSTREAM_ANSWER_UNREADABLE') },
    ],
  },
  {
    name: 'an unknown object is NOT_FOUND with the message of upstream',
    stack: 'plain',
    steps: [
      {
        do: 'call',
        method: query.method,
        request: { ...query.request, policy_id: identifier(999) },
        gives: { error: partly({ code: 'NOT_FOUND', domain: 'upstream', message: any }) },
      },
    ],
  },
  {
    name: 'a gateway that does not exist is UNAVAILABLE without a reason',
    stack: 'plain',
    connect: { address: '127.0.0.1:9' },
    steps: [
      {
        do: 'call',
        ...rename(),
        deadline_ms: 10_000,
        gives: { error: { code: 'UNAVAILABLE', message: any } },
        tookMs: between(0, 60_000),
      },
    ],
  },
  {
    name: 'a gateway without a store refuses keys, and the submit is not repeated',
    stack: 'plain',
    config: { store: undefined, events: undefined, webhooks: undefined },
    steps: [
      { do: 'submit', ...rename(), gives: own('FAILED_PRECONDITION', 'IDEMPOTENCY_NOT_CONFIGURED') },
      { do: 'call', ...rename(), gives: { response: any } },
    ],
  },
];
