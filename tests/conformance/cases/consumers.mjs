// Consumers of a shared subscription: how they settle events, resume, and stop.
import { subscriptionConfig } from '../../end_to_end/consumer.mjs';
import { any, partly } from '../matching.mjs';

const delivery = (event_id, /** @type {any} */ count = any) => ({ delivery: { event_id, count } });
const again = (event_id) => ({ ...delivery(event_id), mayRepeat: true });
const DONE = { done: true };
const consume = (rest) => ({ do: 'consume', id: 'c', subscription: 'payouts', ...rest });
const LARGE = 300_000;
const PARKED = 'the handler of the case parks it';

/** Each case has a log of its own. All its events have the same key, and so an order. */
const own = (settings = {}) => ({
  stack: /** @type {const} */ ('plain'),
  own: true,
  config: subscriptionConfig(settings),
});

/** Only the consumer itself can give back what it holds. */
const HELD_LONG = { settle_within: '1h' };

/** @type {import('../judge.mjs').Case[]} */
export default [
  {
    name: 'a consumer handles every event once, in order',
    ...own(HELD_LONG),
    steps: [
      { delivers: { ids: ['1', '2', '3'] } },
      consume({ events: 4 }),
      { reads: [delivery('1', 1), delivery('2', 1), delivery('3', 1)] },
      { delivers: { ids: ['4'] } },
      { reads: [delivery('4', 1), DONE] },
    ],
  },
  {
    name: 'a consumer that stops has settled the event that it handled, and gives the others back',
    ...own(HELD_LONG),
    steps: [
      { delivers: { ids: ['1', '2', '3'] } },
      consume({ events: 1 }),
      { reads: [delivery('1'), DONE] },
      consume({ events: 2 }),
      { reads: [delivery('2'), delivery('3'), DONE] },
    ],
  },
  {
    name: 'an event whose handler fails comes again before the later events of its key',
    ...own(HELD_LONG),
    steps: [
      { delivers: { ids: ['1', '2', '3'] } },
      consume({ events: 4, fails: { 1: 'retry' }, retry_delay_ms: 50 }),
      { reads: [delivery('1', 1), delivery('1', 2), delivery('2'), delivery('3'), DONE] },
    ],
  },
  {
    name: 'an event whose handler parks it is parked with the reason, and the later events follow',
    ...own(HELD_LONG),
    steps: [
      { delivers: { ids: ['1', '2', '3'] } },
      consume({ events: 3, fails: { 2: 'park' }, park_reason: PARKED }),
      { reads: [delivery('1'), delivery('2'), delivery('3'), DONE] },
      {
        do: 'call',
        method: 'SubscriptionService/ListParked',
        request: { subscription: 'payouts' },
        gives: {
          response: partly({
            parked_events: [partly({ event: partly({ event_id: '2' }), delivery_count: 1, reason: PARKED })],
          }),
        },
      },
    ],
  },
  {
    name: 'a slow handler keeps its event and the next ones',
    ...own({ settle_within: '1s' }),
    steps: [
      { delivers: { ids: ['1', '2'] } },
      consume({ events: 2, handler_ms: 2_500 }),
      { reads: [delivery('1', 1), delivery('2', 1), DONE] },
    ],
  },
  {
    name: 'a consumer resumes by itself after the gateway was killed',
    ...own(),
    steps: [
      { delivers: { ids: ['1', '2'] } },
      consume({ events: 4 }),
      { reads: [delivery('1'), delivery('2')] },
      { kill: 'gateway' },
      { start: 'gateway' },
      { delivers: { ids: ['3', '4'] } },
      { reads: [delivery('3'), delivery('4'), DONE] },
    ],
  },
  {
    name: 'a consumer resumes by itself at another start of a gateway that drained',
    ...own(),
    steps: [
      { delivers: { ids: ['1', '2'] } },
      consume({ events: 4 }),
      { reads: [delivery('1'), delivery('2')] },
      { drains: true },
      { stopped: true },
      { start: 'gateway' },
      { delivers: { ids: ['3', '4'] } },
      { reads: [delivery('3'), delivery('4'), DONE] },
    ],
  },
  {
    name: 'a consumer resumes by itself after its connection broke',
    ...own(),
    connect: { through: 'proxy' },
    steps: [
      { delivers: { ids: ['1', '2'] } },
      consume({ events: 4 }),
      { reads: [delivery('1'), delivery('2')] },
      { breaks: { now: true } },
      { delivers: { ids: ['3', '4'] } },
      { reads: [delivery('3'), delivery('4'), DONE] },
    ],
  },
  {
    name: 'another consumer handles the events that were left after the driver was killed',
    ...own({ settle_within: '1s' }),
    steps: [
      { delivers: { ids: ['1', '2', '3'] } },
      consume({ events: 9 }),
      { reads: [delivery('1'), delivery('2'), delivery('3')] },
      { kill: 'driver' },
      { start: 'driver' },
      { delivers: { ids: ['4', '5'] } },
      consume({ events: 9 }),
      { reads: [again('3'), delivery('4'), delivery('5')] },
      { kill: 'driver' },
      { start: 'driver' },
    ],
  },
  {
    name: 'events that retention has removed before they were handled are a gap, also after a restart',
    ...own(),
    events: { retention_bytes: 1_048_576 },
    steps: [
      { delivers: { ids: ['1', '2', '3', '4', '5', '6', '7', '8', '9', 'last'], padding: LARGE } },
      { trims: { padding: LARGE } },
      { kill: 'gateway' },
      { start: 'gateway' },
      { ...consume({ events: 1 }), gives: { gap: { reason: 'EVENTS_TRIMMED' } } },
      { reads: [DONE] },
    ],
  },
  {
    name: 'a subscription that the config does not declare is an error',
    ...own(),
    steps: [
      {
        ...consume({ subscription: 'refunds', events: 1 }),
        gives: { error: partly({ code: 'NOT_FOUND', domain: 'stampgate', reason: 'SUBSCRIPTION_NOT_FOUND' }) },
      },
    ],
  },
];
