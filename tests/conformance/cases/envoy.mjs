// Calls through an Envoy: cases of other files, and Envoys and gateways that end.
import { any, partly, saved } from '../matching.mjs';
import calls from './calls.mjs';
import errors from './errors.mjs';
import { query, rename, renamed } from './samples.mjs';
import submits from './submits.mjs';
import subscriptions from './subscriptions.mjs';

const THROUGH_ENVOY = [
  'a query returns the whole response',
  'a submit returns the result of its activity',
  'text in every script arrives unchanged in both directions',
  'a request of almost the largest size arrives',
  'a request over the largest size gets the error of gRPC itself, which has no reason',
  'a response of almost the largest size arrives',
  'a response over the largest size leaves the outcome of a submit unknown, and is not repeated',
  'a response over the largest size is an error of the stub that names the activity',
  'an invalid request is an error with every violation',
  'a call that the policy denies is an error with the caller and the class',
  'a rate limit is an error with the delay of its RetryInfo',
  'a deadline that ends a query is DEADLINE_EXCEEDED',
  'a cancelled call is CANCELLED',
  'a cancelled submit is CANCELLED or returns its key, and is not repeated',
  'a submit whose answer upstream lost is repeated with the same bytes',
  'a submit that waits outlives the limit with which the gateway ends each wait',
  'a subscription from the beginning returns every event in order',
  'a subscription resumes by itself after the gateway was killed',
  'a subscription resumes by itself at another start of a gateway that drained',
];

const stack = /** @type {const} */ ('envoy');
const HOLD = { kind: 'slow', untilReleased: true };
const event = (event_id) => ({ event: { event_id, cursor: any } });
const start = (rest) => ({ do: 'start', id: 's', ...rest, gives: { ok: true } });
const submit = { what: 'submit', ...rename(), deadline_ms: 20_000 };

/** @type {import('../judge.mjs').Case[]} */
export default [
  ...THROUGH_ENVOY.map((name) => {
    const found = [...calls, ...errors, ...submits, ...subscriptions].find((each) => each.name === name);
    return { ...found, name: `through Envoy: ${name}`, stack };
  }),
  {
    // The gateway's error may arrive after the deadline, and the client's own has only the key.
    name: 'through Envoy: a submit whose outcome is unknown at the deadline returns its key, and the repetition acts once',
    stack,
    steps: [
      { faults: [{ ...HOLD, times: 'always' }] },
      {
        do: 'submit',
        ...rename(),
        deadline_ms: 2000,
        gives: { outcome_unknown: partly({ key: any }) },
        saves: { key: 'outcome_unknown.key' },
      },
      { heals: true },
      { do: 'submit', ...rename(), key: saved('key'), gives: renamed() },
      { received: { bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'through Envoy: a gateway killed in mid-call, and started again on its port: a submit acts once',
    stack,
    own: true,
    steps: [
      { faults: [HOLD] },
      start(submit),
      { holds: 1 },
      { kill: 'gateway' },
      { start: 'gateway' },
      { release: true },
      { do: 'wait', id: 's', gives: renamed() },
      { received: { bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'through Envoy: a gateway killed in mid-call: a submit on the stub is UNAVAILABLE without a reason',
    stack,
    own: true,
    steps: [
      { faults: [HOLD] },
      start({ what: 'call', ...rename() }),
      { holds: 1 },
      { kill: 'gateway' },
      { do: 'wait', id: 's', gives: { error: { code: 'UNAVAILABLE', message: any } } },
      { start: 'gateway' },
      { release: true },
    ],
  },
  {
    // Envoy then resets the call, which the libraries report as INTERNAL without a reason.
    name: 'through Envoy: a gateway that ends in the middle of a response: a submit acts once',
    stack,
    steps: [
      { faults: [{ kind: 'mutate', set: { '/padding': JSON.stringify('x'.repeat(1_000_000)) } }] },
      { breaks: { fromGateway: 500_000 } },
      { do: 'submit', ...rename(), gives: renamed() },
      { received: { bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'through Envoy: an Envoy killed in mid-call, and started again: a submit acts once',
    stack,
    own: true,
    steps: [
      { faults: [HOLD] },
      start(submit),
      { holds: 1 },
      { kill: 'envoy' },
      { start: 'envoy' },
      { release: true },
      { do: 'wait', id: 's', gives: renamed() },
      { received: { bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'through Envoy: a subscription resumes by itself after Envoy was killed',
    stack,
    own: true,
    steps: [
      { delivers: { ids: ['1', '2'] } },
      { do: 'subscribe', id: 's', cursor: null, request: { end: 'LOG_END_EARLIEST' }, events: 4 },
      { reads: [event('1'), event('2')] },
      { kill: 'envoy' },
      { start: 'envoy' },
      { delivers: { ids: ['3', '4'] } },
      { reads: [event('3'), event('4'), { done: true }] },
    ],
  },
  {
    name: 'through Envoy: a gateway that drains finishes a call in progress',
    stack,
    own: true,
    steps: [
      { faults: [HOLD] },
      start({ what: 'call', ...query }),
      { holds: 1 },
      { drains: true },
      { release: true },
      { do: 'wait', id: 's', gives: { response: partly({ policy: any }) } },
      { stopped: true },
      { start: 'gateway' },
      { do: 'call', ...query, gives: { response: any } },
    ],
  },
];
