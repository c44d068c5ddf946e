// Gateways and connections that end in the middle of calls.
import { any, partly } from '../matching.mjs';
import { QUERIED, RENAMED, query, rename, renamed } from './samples.mjs';

const HOLD = { kind: 'slow', untilReleased: true };
const BROKEN = { error: { code: 'UNAVAILABLE', message: any } };
const start = (rest) => ({ do: 'start', id: 's', ...rest, gives: { ok: true } });
const wait = (gives) => ({ do: 'wait', id: 's', gives });
const submit = { what: 'submit', ...rename(), deadline_ms: 20_000 };

/** @type {import('../judge.mjs').Case[]} */
export default [
  {
    name: 'a gateway killed in mid-call, and started again on its port: a submit acts once',
    stack: 'plain',
    own: true,
    steps: [
      { faults: [HOLD] },
      start(submit),
      { holds: 1 },
      { kill: 'gateway' },
      { start: 'gateway' },
      { release: true },
      wait(renamed()),
      { received: { bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'a gateway killed in mid-call: a submit on the stub is UNAVAILABLE without a reason, and is not repeated',
    stack: 'plain',
    own: true,
    steps: [
      { faults: [HOLD] },
      start({ what: 'call', ...rename() }),
      { holds: 1 },
      { kill: 'gateway' },
      wait(BROKEN),
      { start: 'gateway' },
      { release: true },
      { received: { operations: [RENAMED], activities: 1 } },
    ],
  },
  {
    name: 'a gateway killed in mid-wait: the submit waits on after its start',
    stack: 'plain',
    own: true,
    steps: [
      { faults: [{ kind: 'pending' }] },
      start({ ...submit, wait: true }),
      { submits: 1 },
      { kill: 'gateway' },
      { start: 'gateway' },
      { submits: 2 },
      { ends: 'ACTIVITY_STATUS_COMPLETED' },
      wait(renamed()),
      { received: { bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'a gateway that is down until after the deadline: the outcome of a submit is unknown',
    stack: 'plain',
    own: true,
    steps: [
      { faults: [HOLD] },
      start({ ...submit, deadline_ms: 3000 }),
      { holds: 1 },
      { kill: 'gateway' },
      wait({ outcome_unknown: partly({ key: any }) }),
      { release: true },
      { start: 'gateway' },
    ],
  },
  {
    name: 'a gateway that drains finishes a call in progress',
    stack: 'plain',
    own: true,
    steps: [
      { faults: [HOLD] },
      start({ what: 'call', ...query }),
      { holds: 1 },
      { drains: true },
      { release: true },
      wait({ response: any }),
      { stopped: true },
      { start: 'gateway' },
      { do: 'call', ...query, gives: { response: any } },
      { received: { operations: [QUERIED, QUERIED] } },
    ],
  },
  {
    name: 'a submit to a gateway that has not started yet succeeds after its start',
    stack: 'plain',
    own: true,
    steps: [
      { kill: 'gateway' },
      start(submit),
      { start: 'gateway' },
      wait(renamed()),
      { received: { bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'a submit to a gateway that does not listen is UNAVAILABLE, and no unknown outcome',
    stack: 'plain',
    own: true,
    steps: [
      { kill: 'gateway' },
      {
        do: 'submit',
        ...rename(),
        deadline_ms: 3000,
        gives: { error: partly({ code: 'UNAVAILABLE', message: any }) },
      },
      { received: { operations: [] } },
      { start: 'gateway' },
    ],
  },
  {
    name: 'a connection broken before a byte has passed: a submit acts once',
    stack: 'plain',
    connect: { through: 'proxy' },
    before: [{ breaks: { connections: 1 } }],
    steps: [{ do: 'submit', ...rename(), gives: renamed() }, { received: { operations: [RENAMED], activities: 1 } }],
  },
  {
    name: 'a connection broken in the middle of a request: a submit acts once',
    stack: 'plain',
    connect: { through: 'proxy' },
    steps: [
      { do: 'call', ...query, gives: { response: any } },
      { breaks: { toGateway: 20 } },
      { do: 'submit', ...rename(), gives: renamed() },
      { received: { bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'a connection broken while upstream acts: a submit acts once',
    stack: 'plain',
    connect: { through: 'proxy' },
    steps: [
      { faults: [HOLD] },
      start(submit),
      { holds: 1 },
      { breaks: { now: true } },
      { release: true },
      wait(renamed()),
      { received: { bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'a connection broken in the middle of a response: a submit acts once',
    stack: 'plain',
    connect: { through: 'proxy' },
    steps: [
      { faults: [HOLD] },
      start(submit),
      { holds: 1 },
      { breaks: { fromGateway: 30 } },
      { release: true },
      wait(renamed()),
      { received: { bodies: 1, activities: 1 } },
    ],
  },
  {
    name: 'a connection broken in the middle of a query: the library repeats the query',
    stack: 'plain',
    connect: { through: 'proxy' },
    steps: [
      { faults: [HOLD] },
      start({ what: 'call', ...query }),
      { holds: 1 },
      { breaks: { now: true } },
      { release: true },
      wait({ response: any }),
      { received: { operations: [QUERIED, QUERIED] } },
    ],
  },
];
