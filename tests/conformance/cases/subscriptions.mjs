// Subscriptions: where they start, how they resume, and the gaps that they report.
import { any, partly, saved, text } from '../matching.mjs';
import { query } from './samples.mjs';

const EARLIEST = { end: 'LOG_END_EARLIEST' };
const event = (event_id) => ({ event: { event_id, cursor: any } });
const again = (event_id) => ({ ...event(event_id), mayRepeat: true });
const DONE = { done: true };
const list = (request) => ({ do: 'call', method: 'EventService/ListEvents', request });
const subscribe = (rest) => ({ do: 'subscribe', id: 's', cursor: null, ...rest });
const LARGE = 300_000;

/** Each case has a log of its own. */
const own = { stack: /** @type {const} */ ('plain'), own: true };

/** @type {import('../judge.mjs').Case[]} */
export default [
  {
    name: 'a subscription from the beginning returns every event in order',
    ...own,
    steps: [
      { delivers: { ids: ['1', '2', '3'] } },
      subscribe({ request: EARLIEST, events: 5 }),
      { reads: [event('1'), event('2'), event('3')] },
      { delivers: { ids: ['4', '5'] } },
      { reads: [event('4'), event('5'), DONE] },
    ],
  },
  {
    name: 'a subscription from the end returns only later events',
    ...own,
    steps: [
      { delivers: { ids: ['1', '2'] } },
      subscribe({ request: { end: 'LOG_END_LATEST' }, events: 1 }),
      { subscribers: 1 },
      { delivers: { ids: ['3'] } },
      { reads: [event('3'), DONE] },
    ],
  },
  {
    name: 'a filter selects events',
    ...own,
    steps: [
      { delivers: { ids: ['1'], type: 'red' } },
      { delivers: { ids: ['2'], type: 'blue' } },
      { delivers: { ids: ['3'], type: 'red' } },
      subscribe({ request: { ...EARLIEST, filter: { types: ['red'] } }, events: 2 }),
      { reads: [event('1'), event('3'), DONE] },
    ],
  },
  {
    name: 'a subscription resumes after the event of a cursor',
    ...own,
    steps: [
      { delivers: { ids: ['1', '2', '3'] } },
      { ...list(EARLIEST), gives: any, saves: { cursor: 'response.events.1.cursor' } },
      subscribe({ request: {}, cursor: saved('cursor'), events: 1 }),
      { reads: [event('3'), DONE] },
    ],
  },
  {
    name: 'a subscription resumes by itself after the gateway was killed',
    ...own,
    steps: [
      { delivers: { ids: ['1', '2'] } },
      subscribe({ request: EARLIEST, events: 4 }),
      { reads: [event('1'), event('2')] },
      { kill: 'gateway' },
      { start: 'gateway' },
      { delivers: { ids: ['3', '4'] } },
      { reads: [event('3'), event('4'), DONE] },
    ],
  },
  {
    name: 'a subscription resumes by itself at another start of a gateway that drained',
    ...own,
    steps: [
      { delivers: { ids: ['1', '2'] } },
      subscribe({ request: EARLIEST, events: 4 }),
      { reads: [event('1'), event('2')] },
      { drains: true },
      { stopped: true },
      { start: 'gateway' },
      { delivers: { ids: ['3', '4'] } },
      { reads: [event('3'), event('4'), DONE] },
    ],
  },
  {
    name: 'a subscription resumes by itself after its connection broke',
    ...own,
    connect: { through: 'proxy' },
    steps: [
      { delivers: { ids: ['1', '2'] } },
      subscribe({ request: EARLIEST, events: 4 }),
      { reads: [event('1'), event('2')] },
      { breaks: { now: true } },
      { delivers: { ids: ['3', '4'] } },
      { reads: [event('3'), event('4'), DONE] },
    ],
  },
  {
    name: 'a subscription resumes by itself after its connection broke within a message',
    ...own,
    connect: { through: 'proxy' },
    steps: [
      subscribe({ request: EARLIEST, events: 2 }),
      { delivers: { ids: ['1'] } },
      { reads: [event('1')] },
      { breaks: { fromGateway: 5000 } },
      { delivers: { ids: ['2'], padding: LARGE } },
      { reads: [event('2'), DONE] },
    ],
  },
  {
    name: 'a subscription resumes at the cursor of its file after the driver was killed, and loses nothing',
    ...own,
    steps: [
      { delivers: { ids: ['1', '2', '3'] } },
      subscribe({ request: EARLIEST, cursorFile: true, events: 9 }),
      { reads: [event('1'), event('2'), event('3')] },
      { kill: 'driver' },
      { start: 'driver' },
      { delivers: { ids: ['4', '5'] } },
      subscribe({ request: EARLIEST, cursorFile: true, events: 9 }),
      { reads: [again('3'), event('4'), event('5')] },
      { kill: 'driver' },
      { start: 'driver' },
    ],
  },
  {
    name: 'a heartbeat advances the cursor of the file',
    ...own,
    events: { heartbeat_interval: '100ms' },
    steps: [
      subscribe({ request: { ...EARLIEST, filter: { types: ['red'] } }, cursorFile: true, events: 1 }),
      { delivers: { ids: ['1', '2'], type: 'blue' } },
      { savesLatestCursor: true },
      { kill: 'driver' },
      { start: 'driver' },
      { delivers: { ids: ['3'], type: 'blue' } },
      subscribe({ request: EARLIEST, cursorFile: true, events: 1 }),
      { reads: [event('3'), DONE] },
    ],
  },
  {
    name: 'a cursor file without a cursor is an error that names the file',
    ...own,
    steps: [
      { delivers: { ids: ['1'] } },
      { writesCursor: '' },
      {
        ...subscribe({ request: EARLIEST, cursorFile: true, events: 1 }),
        gives: { cursor_error: text(/\/cursor contains no cursor$/) },
      },
      { do: 'call', ...query, gives: { response: any } },
    ],
  },
  {
    name: 'a cursor file that ends in a line feed is read',
    ...own,
    steps: [
      { delivers: { ids: ['1'] } },
      { ...list(EARLIEST), gives: any, saves: { cursor: 'response.cursor' } },
      { writesCursor: saved('cursor') },
      { delivers: { ids: ['2'] } },
      subscribe({ request: EARLIEST, cursorFile: true, events: 1 }),
      { reads: [event('2'), DONE] },
    ],
  },
  {
    name: 'a cursor before events that retention has removed is a gap with the earliest cursor',
    ...own,
    events: { retention_bytes: 1_048_576 },
    steps: [
      { ...list(EARLIEST), gives: any, saves: { first: 'response.cursor' } },
      { delivers: { ids: ['1', '2', '3', '4', '5', '6', '7', '8', '9', 'last'], padding: LARGE } },
      { trims: { padding: LARGE } },
      {
        ...subscribe({ request: {}, cursor: saved('first'), events: 1 }),
        gives: { gap: { reason: 'EVENTS_TRIMMED', cursor: any } },
        saves: { earliest: 'gap.cursor' },
      },
      { reads: [DONE] },
      subscribe({ request: {}, cursor: saved('earliest'), events: 1 }),
      { reads: [{ event: any }, DONE] },
    ],
  },
  {
    name: 'a cursor of another log is a gap',
    ...own,
    steps: [
      { delivers: { ids: ['1'] } },
      { ...list(EARLIEST), gives: any, saves: { foreign: 'response.cursor' } },
      { drains: true },
      { stopped: true },
      { losesLog: true },
      { start: 'gateway' },
      { delivers: { ids: ['2'] } },
      {
        ...subscribe({ request: {}, cursor: saved('foreign'), events: 1 }),
        gives: { gap: partly({ reason: 'CURSOR_OF_ANOTHER_LOG' }) },
      },
      { reads: [DONE] },
      subscribe({ request: EARLIEST, events: 1 }),
      { reads: [event('2'), DONE] },
    ],
  },
  {
    name: 'an altered cursor is an error, and the subscription is not repeated',
    ...own,
    steps: [
      {
        ...subscribe({ request: {}, cursor: 'bm90IGEgY3Vyc29y', events: 1 }),
        gives: { error: partly({ code: 'INVALID_ARGUMENT', domain: 'stampgate', reason: 'CURSOR_INVALID' }) },
      },
    ],
  },
  {
    name: 'a subscription that the policy denies is an error',
    ...own,
    config: {
      callers: [{ name: 'reader', loopback: true, grants: [{ classes: ['query'], all_organizations: true }] }],
    },
    steps: [
      {
        ...subscribe({ request: EARLIEST, events: 1 }),
        gives: { error: partly({ code: 'PERMISSION_DENIED', reason: 'DENIED_BY_POLICY' }) },
      },
      { do: 'call', ...query, gives: { response: any } },
    ],
  },
  {
    name: 'large events arrive, also those whose body is omitted',
    ...own,
    steps: [
      { delivers: { ids: ['1'], padding: 2_000_000 } },
      { delivers: { ids: ['2'], padding: 3_500_000 } },
      { delivers: { ids: ['3'] } },
      subscribe({ request: EARLIEST, events: 3 }),
      { reads: [event('1'), event('2'), event('3'), DONE] },
    ],
  },
  {
    name: 'pages of events join without a gap',
    ...own,
    steps: [
      { delivers: { ids: ['1', '2', '3'] } },
      {
        ...list({ ...EARLIEST, page_size: 2 }),
        gives: { response: { events: [partly({ event_id: '1' }), partly({ event_id: '2' })], cursor: any } },
        saves: { next: 'response.cursor' },
      },
      {
        ...list({ cursor: saved('next'), page_size: 2 }),
        gives: { response: { events: [partly({ event_id: '3' })], cursor: any, at_end: true } },
      },
    ],
  },
  {
    name: 'an event of upstream passes the verification, and a changed one does not',
    ...own,
    steps: [
      { delivers: { ids: ['1', '2'] } },
      { do: 'call', method: 'WebhookService/GetWebhookKeySet', request: {}, gives: any, saves: { keys: 'response' } },
      { ...list(EARLIEST), gives: any, saves: { one: 'response.events.0', other: 'response.events.1' } },
      { do: 'verify', event: saved('one'), keys: saved('keys'), gives: { valid: true } },
      { do: 'verify', event: saved('other'), keys: saved('keys'), gives: { valid: true } },
      { swaps: { event: 'one', member: 'body', with: 'other', as: 'changed body' } },
      { do: 'verify', event: saved('changed body'), keys: saved('keys'), gives: { valid: false } },
      { swaps: { event: 'one', member: 'event_id', with: 'other', as: 'changed id' } },
      { do: 'verify', event: saved('changed id'), keys: saved('keys'), gives: { valid: false } },
      { swaps: { event: 'one', member: 'signature', with: 'other', as: 'changed signature' } },
      { do: 'verify', event: saved('changed signature'), keys: saved('keys'), gives: { valid: false } },
      { do: 'verify', event: saved('one'), keys: { keys: [] }, gives: { valid: false } },
    ],
  },
];
