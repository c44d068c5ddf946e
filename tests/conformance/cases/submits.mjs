// Submits: deadlines, cancellation, repetition that never acts twice, and the end of an activity.
import { any, between, either, partly, saved, text } from '../matching.mjs';
import { QUERIED, RENAMED, query, rename, renamed } from './samples.mjs';

const HOLD = { kind: 'slow', untilReleased: true };
const OPEN = { kind: 'pending' };
const COMPLETED = 'ACTIVITY_STATUS_COMPLETED';

/** @type {import('../judge.mjs').Case[]} */
export default [
  {
    name: 'a deadline that ends a query is DEADLINE_EXCEEDED',
    stack: 'plain',
    steps: [
      { faults: [HOLD] },
      {
        do: 'call',
        ...query,
        deadline_ms: 1000,
        gives: { error: partly({ code: 'DEADLINE_EXCEEDED' }) },
        tookMs: between(800, 20_000),
      },
      { received: { operations: [QUERIED] } },
    ],
  },
  {
    name: 'the default deadline ends a call without one',
    stack: 'plain',
    connect: { deadline_ms: 1000 },
    steps: [
      { faults: [HOLD] },
      {
        do: 'call',
        ...query,
        gives: { error: partly({ code: 'DEADLINE_EXCEEDED' }) },
        tookMs: between(800, 20_000),
      },
    ],
  },
  {
    name: 'a cancelled call is CANCELLED',
    stack: 'plain',
    steps: [
      { faults: [HOLD] },
      { do: 'start', id: 'q', what: 'call', ...query, gives: { ok: true } },
      { holds: 1 },
      { do: 'cancel', id: 'q', gives: { ok: true } },
      { do: 'wait', id: 'q', gives: { error: partly({ code: 'CANCELLED' }) } },
      { received: { operations: [QUERIED] } },
    ],
  },
  {
    // A library that cancels by raising its own exception has no place for the key.
    name: 'a cancelled submit is CANCELLED or returns its key, and is not repeated',
    stack: 'plain',
    steps: [
      { faults: [HOLD] },
      { do: 'start', id: 's', what: 'submit', ...rename(), gives: { ok: true } },
      { holds: 1 },
      { do: 'cancel', id: 's', gives: { ok: true } },
      {
        do: 'wait',
        id: 's',
        gives: either({ error: partly({ code: 'CANCELLED' }) }, { outcome_unknown: partly({ key: any }) }),
      },
      { release: true },
      { do: 'call', ...query, gives: { response: any } },
      { received: { operations: [RENAMED, QUERIED], activities: 1 } },
    ],
  },
  {
    name: 'a call in progress does not hold up another one',
    stack: 'plain',
    steps: [
      { faults: [{ ...HOLD, match: { path: RENAMED } }] },
      { do: 'start', id: 's', what: 'submit', ...rename(), gives: { ok: true } },
      { holds: 1 },
      { do: 'call', ...query, gives: { response: any } },
      { release: true },
      { do: 'wait', id: 's', gives: renamed() },
    ],
  },
  {
    name: 'a submit whose answer upstream lost is repeated with the same bytes',
    stack: 'plain',
    steps: [
      { faults: [{ kind: 'readAndClose' }] },
      { do: 'submit', ...rename(), gives: renamed() },
      { received: { operations: [RENAMED, RENAMED], bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'a submit that failed three times with an unknown outcome acts once',
    stack: 'plain',
    steps: [
      { faults: [{ kind: 'readAndClose' }, { kind: 'error', code: 'INTERNAL', apply: true }, { kind: 'truncated' }] },
      { do: 'submit', ...rename(), deadline_ms: 20_000, gives: renamed() },
      { received: { operations: [RENAMED, RENAMED, RENAMED, RENAMED], bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'a submit whose outcome is unknown at the deadline returns what repeats it, and the repetition acts once',
    stack: 'plain',
    steps: [
      { faults: [{ ...HOLD, times: 'always' }] },
      {
        do: 'submit',
        ...rename(),
        deadline_ms: 2000,
        gives: {
          outcome_unknown: partly({
            key: text(/^[\x21-\x7e]{16,128}$/),
            timestamp_ms: text(/^\d{13}$/),
            fingerprint: text(/^sha256:[0-9a-f]{64}$/),
          }),
        },
        saves: { key: 'outcome_unknown.key' },
        tookMs: between(0, 60_000),
      },
      { heals: true },
      { do: 'submit', ...rename(), key: saved('key'), gives: renamed() },
      { received: { bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'a submit whose repetition upstream refuses has an unknown outcome',
    stack: 'plain',
    steps: [
      {
        faults: [
          { kind: 'error', code: 'INTERNAL', apply: true },
          { kind: 'status', status: 403, body: '' },
        ],
      },
      {
        do: 'submit',
        ...rename(),
        gives: { outcome_unknown: partly({ key: any, timestamp_ms: text(/^\d{13}$/), fingerprint: text(/^sha256:/) }) },
      },
      { received: { operations: [RENAMED, RENAMED], bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'a submit whose key cannot be stored is an error, and nothing is sent',
    stack: 'machine',
    own: true,
    steps: [
      { hangs: true },
      {
        do: 'submit',
        ...rename(),
        deadline_ms: 3000,
        gives: { error: partly({ code: 'UNAVAILABLE', domain: 'stampgate', reason: 'IDEMPOTENCY_UNAVAILABLE' }) },
      },
      { received: { operations: [] } },
    ],
  },
  {
    name: 'a submit whose key cannot be looked up after a try that may have acted has an unknown outcome',
    stack: 'machine',
    own: true,
    connect: { through: 'proxy' },
    steps: [
      { faults: [HOLD] },
      { do: 'start', id: 's', what: 'submit', ...rename(), deadline_ms: 15_000, gives: { ok: true } },
      { holds: 1 },
      { hangs: true },
      { breaks: { now: true } },
      { do: 'wait', id: 's', gives: { outcome_unknown: partly({ key: any }) } },
      { release: true },
      { received: { operations: [RENAMED] } },
    ],
  },
  {
    name: 'a submit on the stub without a key is never repeated',
    stack: 'plain',
    steps: [
      { faults: [{ kind: 'readAndClose' }] },
      {
        do: 'call',
        ...rename(),
        gives: {
          error: {
            code: 'UNKNOWN',
            domain: 'stampgate',
            reason: 'OUTCOME_UNKNOWN',
            message: any,
            request_id: any,
            metadata: { timestamp_ms: text(/^\d{13}$/), fingerprint: text(/^sha256:/) },
          },
        },
        saves: { time: 'error.metadata.timestamp_ms' },
      },
      {
        do: 'submit',
        method: rename().method,
        request: { ...rename().request, timestamp_ms: saved('time') },
        gives: renamed(),
      },
      { received: { operations: [RENAMED, RENAMED], bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'two submits without a key of the caller are two activities',
    stack: 'plain',
    steps: [
      { do: 'submit', ...rename(), gives: renamed() },
      { do: 'submit', ...rename(), gives: renamed() },
      { received: { operations: [RENAMED, RENAMED], bodies: 2, activities: 2 } },
    ],
  },
  {
    name: 'two submits with the same key of the caller are one activity',
    stack: 'plain',
    steps: [
      { do: 'submit', ...rename(), key: 'payment-4711', gives: renamed() },
      { do: 'submit', ...rename(), key: 'payment-4711', gives: renamed() },
      { received: { bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'a key in the request is the key of the submit',
    stack: 'plain',
    steps: [
      { do: 'submit', ...rename(), key: 'payment-4712', gives: renamed() },
      {
        do: 'submit',
        method: rename().method,
        request: { ...rename().request, idempotency_key: 'payment-4712' },
        gives: renamed(),
      },
      { received: { bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'a key that another request has used is an error, and nothing is sent',
    stack: 'plain',
    steps: [
      { do: 'submit', ...rename('First'), key: 'payment-4713', gives: renamed('First') },
      {
        do: 'submit',
        ...rename('Second'),
        key: 'payment-4713',
        gives: {
          error: {
            code: 'INVALID_ARGUMENT',
            domain: 'stampgate',
            reason: 'IDEMPOTENCY_KEY_REUSED',
            message: any,
            request_id: any,
          },
        },
      },
      { received: { operations: [RENAMED], activities: 1 } },
    ],
  },
  {
    name: 'a failed activity is a typed failure',
    stack: 'plain',
    steps: [
      {
        faults: [
          { kind: 'activityStatus', status: 'ACTIVITY_STATUS_FAILED', failure: { code: 3, message: 'it failed' } },
        ],
      },
      { do: 'submit', ...rename(), gives: { failed: partly({ status: 'ACTIVITY_STATUS_FAILED' }) } },
      { received: { operations: [RENAMED] } },
    ],
  },
  {
    name: 'a rejected activity is a typed rejection',
    stack: 'plain',
    steps: [
      { faults: [{ kind: 'activityStatus', status: 'ACTIVITY_STATUS_REJECTED' }] },
      { do: 'submit', ...rename(), gives: { rejected: partly({ status: 'ACTIVITY_STATUS_REJECTED' }) } },
      { received: { operations: [RENAMED] } },
    ],
  },
  {
    name: 'an activity that needs consensus is pending',
    stack: 'plain',
    steps: [
      { faults: [{ ...OPEN, approvals: 2 }] },
      { do: 'submit', ...rename(), gives: { pending: partly({ status: 'ACTIVITY_STATUS_CONSENSUS_NEEDED' }) } },
      { received: { operations: [RENAMED], activities: 1 } },
    ],
  },
  ...[
    ['ACTIVITY_STATUS_COMPLETED', renamed()],
    ['ACTIVITY_STATUS_FAILED', { failed: partly({ status: 'ACTIVITY_STATUS_FAILED' }) }],
    ['ACTIVITY_STATUS_REJECTED', { rejected: partly({ status: 'ACTIVITY_STATUS_REJECTED' }) }],
  ].map(([status, gives]) => ({
    name: `a submit that waits returns the end of its activity (${status})`,
    stack: /** @type {const} */ ('plain'),
    steps: [
      { faults: [OPEN] },
      { do: 'start', id: 's', what: 'submit', ...rename(), wait: true, gives: { ok: true } },
      { ends: status },
      { do: 'wait', id: 's', gives },
      { received: { bodies: 1, activities: 1 } },
    ],
  })),
  ...[
    ['approve', renamed()],
    ['reject', { rejected: partly({ status: 'ACTIVITY_STATUS_REJECTED' }) }],
  ].map(([vote, gives]) => ({
    name: `a submit that waits for consensus returns after a vote to ${vote}`,
    stack: /** @type {const} */ ('plain'),
    steps: [
      { faults: [{ ...OPEN, approvals: 2 }] },
      { do: 'start', id: 's', what: 'submit', ...rename(), wait: true, gives: { ok: true } },
      { votes: vote },
      { do: 'wait', id: 's', gives },
    ],
  })),
  {
    name: 'a submit that waits for consensus in vain returns the pending activity at its deadline',
    stack: 'plain',
    steps: [
      { faults: [{ ...OPEN, approvals: 3 }] },
      {
        do: 'submit',
        ...rename(),
        wait: true,
        deadline_ms: 2000,
        gives: { pending: partly({ status: 'ACTIVITY_STATUS_CONSENSUS_NEEDED' }) },
        tookMs: between(1000, 60_000),
      },
      { received: { bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'a submit that waits outlives the limit with which the gateway ends each wait',
    stack: 'plain',
    config: { activities: { max_wait: '1s', poll_interval: '100ms', max_poll_interval: '1s' } },
    steps: [
      { faults: [OPEN] },
      { do: 'start', id: 's', what: 'submit', ...rename(), wait: true, deadline_ms: 20_000, gives: { ok: true } },
      { submits: 2 },
      { ends: COMPLETED },
      { do: 'wait', id: 's', gives: renamed() },
      { received: { bodies: 1, activities: 1 } },
    ],
  },
];
