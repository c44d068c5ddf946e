// Calls that succeed: values, presence, pages, sizes.
import { ORGANIZATION, identifier } from '../../simulator/testing.mjs';
import { any, partly, text } from '../matching.mjs';
import { POLICY, query, rename, renamed } from './samples.mjs';

const createPolicies = (policies) => ({
  method: 'PolicyService/CreatePolicies',
  request: { organization_id: ORGANIZATION, parameters: { policies } },
});
const policy = (more) => ({ policy_name: 'one', effect: 'EFFECT_ALLOW', notes: '', ...more });
const POLICIES_CREATED = { result: { create_policies_result: { policy_ids: [any] } } };
const accounts = (pagination_options) => ({
  method: 'WalletService/ListWalletAccounts',
  request: { organization_id: ORGANIZATION, wallet_id: identifier(11), pagination_options },
});
const named = (wallet_account_id) => partly({ wallet_account_id });

/** @type {import('../judge.mjs').Case[]} */
export default [
  {
    name: 'a query returns the whole response',
    stack: 'plain',
    steps: [
      {
        do: 'call',
        ...query,
        gives: { response: { policy: partly({ policy_id: POLICY, effect: any, created_at: text(/^\d{4}-.*Z$/) }) } },
      },
      { received: { operations: ['get_policy'] } },
    ],
  },
  {
    name: 'a submit on the generated stub returns its activity',
    stack: 'plain',
    steps: [
      {
        do: 'call',
        ...rename(),
        gives: {
          response: {
            activity: partly({ id: any, status: 'ACTIVITY_STATUS_COMPLETED', result: renamed().result }),
          },
        },
      },
    ],
  },
  {
    name: 'a submit returns the result of its activity',
    stack: 'plain',
    steps: [
      { do: 'submit', ...rename(), gives: renamed() },
      { received: { operations: ['update_organization_name'], activities: 1 } },
    ],
  },
  {
    name: 'an absent field, an empty text and a set text arrive as three different values',
    stack: 'plain',
    steps: [
      { do: 'submit', ...createPolicies([policy({ condition: '', consensus: 'true' })]), gives: POLICIES_CREATED },
      {
        sent: partly({
          parameters: {
            policies: [{ policyName: 'one', effect: 'EFFECT_ALLOW', notes: '', condition: '', consensus: 'true' }],
          },
        }),
      },
      { do: 'submit', ...createPolicies([policy()]), gives: POLICIES_CREATED },
      { sent: partly({ parameters: { policies: [{ policyName: 'one', effect: 'EFFECT_ALLOW', notes: '' }] } }) },
    ],
  },
  {
    name: 'false differs from an absent flag',
    stack: 'plain',
    steps: [
      { do: 'call', method: rename().method, request: { ...rename().request, generate_app_proofs: false }, gives: any },
      { sent: partly({ generateAppProofs: false }) },
      { do: 'call', ...rename(), gives: any },
      { sent: { type: any, timestampMs: any, organizationId: ORGANIZATION, parameters: any } },
    ],
  },
  {
    name: 'an absent field of a response stays absent',
    stack: 'plain',
    steps: [
      {
        faults: [
          {
            kind: 'mutate',
            set: { '/policy/condition': '""' },
            remove: ['/policy/consensus', '/policy/createdAt', '/policy/updatedAt'],
          },
        ],
      },
      {
        do: 'call',
        ...query,
        gives: {
          response: { policy: { policy_id: POLICY, policy_name: any, effect: any, condition: '' } },
        },
      },
    ],
  },
  {
    name: 'an empty list of a response is left out',
    stack: 'plain',
    steps: [
      {
        do: 'call',
        method: 'WalletService/ListWalletAccounts',
        request: { organization_id: ORGANIZATION, wallet_id: identifier(22) },
        gives: { response: {} },
      },
    ],
  },
  {
    name: 'text in every script arrives unchanged in both directions',
    stack: 'plain',
    steps: [
      {
        do: 'submit',
        ...rename('Zürich 東京 Ελλάδα עברית 🏦👩‍💻 "\\/<>&\u2028'),
        gives: renamed('Zürich 東京 Ελλάδα עברית 🏦👩‍💻 "\\/<>&\u2028'),
      },
      { sent: partly({ parameters: { organizationName: 'Zürich 東京 Ελλάδα עברית 🏦👩‍💻 "\\/<>&\u2028' } }) },
    ],
  },
  {
    name: 'a 64-bit number of a request keeps every digit',
    stack: 'plain',
    steps: [
      {
        do: 'call',
        method: rename().method,
        request: { ...rename().request, timestamp_ms: '18446744073709551615' },
        gives: any,
      },
      { sent: partly({ timestampMs: '18446744073709551615' }) },
    ],
  },
  {
    name: 'a 64-bit number of a response keeps every digit',
    stack: 'plain',
    steps: [
      { balance: { eventId: 'balance', numbers: 'string', msg: { block: { number: '18446744073709551615' } } } },
      {
        do: 'call',
        method: 'EventService/GetEvent',
        request: { event_id: 'balance' },
        gives: {
          response: {
            event: partly({ balance_update: partly({ msg: partly({ block: { number: '18446744073709551615' } }) }) }),
          },
        },
      },
    ],
  },
  {
    name: 'an enum value of a response that the API does not know is in `unrecognized`',
    stack: 'plain',
    steps: [
      { faults: [{ kind: 'mutate', set: { '/policy/effect': '"EFFECT_OF_NEXT_YEAR"' } }] },
      {
        do: 'call',
        ...query,
        gives: {
          response: {
            policy: {
              policy_id: POLICY,
              policy_name: any,
              created_at: any,
              updated_at: any,
              condition: any,
              consensus: any,
            },
            unrecognized: { '/policy/effect': '"EFFECT_OF_NEXT_YEAR"' },
          },
        },
      },
    ],
  },
  {
    name: 'an enum number that the API does not know reaches the gateway, which refuses it',
    stack: 'plain',
    steps: [
      {
        do: 'call',
        ...createPolicies([policy({ effect: 77 })]),
        gives: {
          error: partly({
            code: 'INVALID_ARGUMENT',
            reason: 'INVALID_REQUEST',
            violations: [{ field: 'parameters.policies[0].effect', description: any }],
          }),
        },
      },
      { received: { operations: [] } },
    ],
  },
  {
    name: 'an activity status that the API does not know is no end of the activity',
    stack: 'plain',
    steps: [
      { faults: [{ kind: 'activityStatus', status: 'ACTIVITY_STATUS_OF_NEXT_YEAR' }] },
      { do: 'submit', ...rename(), gives: { pending: partly({}) } },
    ],
  },
  {
    name: 'pages of a list join without a gap',
    stack: 'plain',
    steps: [
      {
        do: 'call',
        ...accounts({ limit: '2' }),
        gives: { response: { accounts: [named(identifier(13)), named(identifier(14))] } },
        saves: { last: 'response.accounts.1.wallet_account_id' },
      },
      {
        do: 'call',
        ...accounts({ limit: '2', after: identifier(14) }),
        gives: { response: { accounts: [named(identifier(100)), named(identifier(101))] } },
      },
    ],
  },
  {
    name: 'a request of almost the largest size arrives',
    stack: 'plain',
    steps: [
      {
        do: 'submit',
        ...createPolicies([policy({ notes: 'n'.repeat(1_048_576 - 400) })]),
        gives: POLICIES_CREATED,
      },
    ],
  },
  {
    name: 'a request over the largest size gets the error of gRPC itself, which has no reason',
    stack: 'plain',
    steps: [
      {
        do: 'call',
        ...createPolicies([policy({ notes: 'n'.repeat(1_100_000) })]),
        gives: { error: { code: 'RESOURCE_EXHAUSTED', message: text(/1048576/) } },
      },
      { do: 'call', ...query, gives: { response: any } },
      { received: { operations: ['get_policy'] } },
    ],
  },
  {
    name: 'a response of almost the largest size arrives',
    stack: 'plain',
    steps: [
      { faults: [{ kind: 'mutate', set: { '/policy/notes': JSON.stringify('n'.repeat(4_128_000)) } }] },
      { do: 'call', ...query, gives: { response: { policy: partly({ notes: text(/^n{4128000}$/) }) } } },
    ],
  },
  {
    name: 'a response over the largest size leaves the outcome of a submit unknown, and is not repeated',
    stack: 'plain',
    steps: [
      { faults: [{ kind: 'mutate', set: { '/padding': JSON.stringify('x'.repeat(4_200_000)) } }] },
      {
        do: 'submit',
        ...rename(),
        gives: {
          outcome_unknown: partly({ key: any, timestamp_ms: text(/^\d{13}$/), fingerprint: text(/^sha256:/) }),
        },
      },
      { received: { activities: 1, operations: ['update_organization_name'] } },
    ],
  },
  {
    name: 'a response over the largest size is an error of the stub that names the activity',
    stack: 'plain',
    steps: [
      { faults: [{ kind: 'mutate', set: { '/padding': JSON.stringify('x'.repeat(4_200_000)) } }] },
      {
        do: 'call',
        ...rename(),
        gives: {
          error: partly({
            code: 'OUT_OF_RANGE',
            domain: 'stampgate',
            reason: 'ANSWER_TOO_LARGE',
            metadata: partly({ activity_id: any, activity_status: 'ACTIVITY_STATUS_COMPLETED', fingerprint: any }),
          }),
        },
      },
      { received: { activities: 1, operations: ['update_organization_name'] } },
    ],
  },
  {
    name: "a response over the library's own limit leaves the outcome of a submit unknown, and is not repeated",
    stack: 'plain',
    connect: { max_response_bytes: 50 },
    steps: [
      { do: 'submit', ...rename(), gives: { outcome_unknown: partly({ key: any }) } },
      { received: { activities: 1, operations: ['update_organization_name'] } },
    ],
  },
  {
    name: 'bytes of a response arrive unchanged',
    stack: 'plain',
    steps: [
      { delivers: { ids: ['bytes'], type: 'bytes' } },
      {
        do: 'call',
        method: 'EventService/GetEvent',
        request: { event_id: 'bytes' },
        gives: {
          response: {
            event: partly({
              body: text(/^eyJ0eXBlIjoiYnl0ZXMi/),
              body_sha256: text(/^[A-Za-z0-9+/]{43}=$/),
              type: 'bytes',
            }),
          },
        },
      },
    ],
  },
  {
    name: 'calls of several services share the connection',
    stack: 'plain',
    steps: [
      { do: 'call', ...query, gives: { response: any } },
      {
        do: 'call',
        method: 'OrganizationService/ListSuborgs',
        request: { organization_id: ORGANIZATION },
        gives: { response: partly({}) },
      },
      {
        do: 'call',
        method: 'WalletService/ListWallets',
        request: { organization_id: ORGANIZATION },
        gives: { response: partly({ wallets: any }) },
      },
    ],
  },
];
