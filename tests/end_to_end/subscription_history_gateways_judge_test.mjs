// Tests what the judge of histories of shared subscriptions finds and allows if several gateways serve a subscription.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SETTLE_WITHIN_MS, findings } from './subscription_history/story.mjs';

/** What the judge finds in a history with several gateways, where A consumes at the first one. */
const findingsOfShared = (tell) =>
  findings((story) => {
    story.settings.isShared = true;
    return tell(story, story.consume('A'));
  });

/**
 * A gateway wakes and sends an event, whose key the second one has taken after the time of the first was over.
 * @param {any} story
 * @param {any} stream
 * @param {(made: any) => void} again what happens before the gateway knows it
 */
function wakes(story, stream, again) {
  const token = story.deliver(stream, 'a1');
  const restart = story.records.add('restart', { gateway: 0 });
  const other = story.consume('B', { gateway: 1 });
  story.ms += SETTLE_WITHIN_MS;
  const second = story.deliver(other, 'a1', 2, 'GATEWAY_RESTARTED');
  const lapse = story.records.add('lapse', { gateway: 0 });
  const stale = story.deliver(stream, 'a2');
  again({ token, second, stale, other });
  for (const record of [lapse, restart]) story.records.end(record);
  story.settle(second);
  story.settle(story.deliver(other, 'a2', 2, 'GATEWAY_RESTARTED'));
}

describe('with several gateways, the judge finds', () => {
  const cases = {
    'two that send events of one key': [
      (story, stream) => {
        const token = story.deliver(stream, 'a1');
        story.handle(story.consume('B', { gateway: 1 }), 'a2', 'b1');
        story.settle(token);
      },
      ['delivery 1 of a2 to B (FIRST): consumer A held the earlier event a1 of its key'],
    ],
    'two that send one event for the first time': [
      (story, stream) => {
        story.handle(stream, 'a1', 'a2');
        story.deliver(stream, 'b1');
        story.settle(story.deliver(story.consume('B', { gateway: 1 }), 'b1'));
      },
      [
        'delivery 1 of b1 to B (FIRST): it is not the first one',
        'delivery 1 of b1 to B (FIRST) followed after delivery 1',
      ],
    ],
    'an event that is sent again at once by the next holder, although a consumer can hold it': [
      (story, stream) => {
        story.handle(stream, 'a1', 'a2');
        story.deliver(stream, 'b1');
        story.add('restart', { gateway: 0 });
        story.settle(story.deliver(story.consume('B', { gateway: 1 }), 'b1', 2, 'GATEWAY_RESTARTED'));
      },
      ['delivery 2 of b1 to B (GATEWAY_RESTARTED): the time after the restart was not over'],
    ],
    'a settle with an earlier token that a gateway accepts when it wakes': [
      (story, stream) => {
        wakes(story, stream, ({ token }) => story.settle(token));
        story.handle(stream, 'b1');
      },
      ['delivery 1 of a1 to A was settled as DONE, although it was not the last one'],
    ],
    'a late delivery that settles the event': [
      (story, stream) => {
        wakes(story, stream, () => story.settle(story.deliver(stream, 'a1')));
        story.handle(stream, 'b1');
      },
      ['delivery 1 of a1 to A was settled as DONE, although it was not the last one'],
    ],
    'an event that is sent again before its time is over': [
      (story, stream) => {
        story.handle(stream, 'a1', 'a2');
        story.records.add('passTime', { ms: SETTLE_WITHIN_MS });
        story.deliver(stream, 'b1');
        story.settle(story.deliver(stream, 'b1', 2, 'TIMEOUT'));
      },
      ['delivery 2 of b1 to A (TIMEOUT): the time of the delivery before was not over'],
    ],
    'an order that is broken after the lapse of another gateway': [
      (story, stream) => {
        const third = story.consume('C', { gateway: 2 });
        const token = story.deliver(stream, 'a1');
        const lapse = story.records.add('lapse', { gateway: 0 });
        story.handle(third, 'a2', 'b1');
        story.records.end(lapse);
        story.settle(token);
      },
      ['delivery 1 of a2 to C (FIRST): consumer A held the earlier event a1 of its key'],
    ],
  };
  for (const [name, [tell, expected]] of Object.entries(cases)) {
    test(name, () => assert.deepEqual(findingsOfShared(tell), expected));
  }
});

describe('with several gateways, the judge allows', () => {
  const cases = {
    'that a gateway that wakes sends what another one has sent, and cannot settle it': (story, stream) => {
      wakes(story, stream, ({ token, other }) => {
        story.settle(token, 'DONE', { superseded: [token] });
        const late = story.deliver(stream, 'a1');
        story.settle(late, 'DONE', { superseded: [late] });
        story.end(other);
      });
      story.handle(stream, 'b1');
    },
    'that both send an event with the same token': (story, stream) => {
      story.handle(stream, 'a1', 'a2');
      const other = story.consume('B', { gateway: 1 });
      const lapse = story.records.add('lapse', { gateway: 0 });
      const token = story.deliver(stream, 'b1');
      story.records.add('delivery', {
        ...{ consumer: 'B', stream: other.stream, event: 'b1', token, count: 1, reason: 'FIRST', retried: false },
      });
      story.records.end(lapse);
      story.settle(token);
    },
    'that a gateway does not know that a token of another one is superseded': (story, stream) => {
      story.handle(stream, 'a1', 'a2');
      const held = [story.deliver(stream, 'b1')];
      story.settle(held);
      story.consume('A', { held, gateway: 1 });
    },
    'that an event that waits has moved to another gateway': (story, stream) => {
      story.handle(stream, 'a1', 'a2');
      story.settle(story.deliver(stream, 'b1'), 'RETRY');
      story.settle(story.deliver(story.consume('B', { gateway: 1 }), 'b1', 2, 'GATEWAY_RESTARTED'));
    },
    'that an event is sent again at once if the clocks have stepped after it was sent': (story, stream) => {
      story.handle(stream, 'a1', 'a2');
      story.deliver(stream, 'b1');
      story.records.add('passTime', { ms: SETTLE_WITHIN_MS });
      story.settle(story.deliver(stream, 'b1', 2, 'TIMEOUT'));
    },
    'that an event that was not sent counts as sent once after it has moved': (story, stream) => {
      story.handle(stream, 'a1');
      const next = story.consume('B', { gateway: 1 });
      story.settle(story.deliver(next, 'a2', 2, 'GATEWAY_RESTARTED'));
      story.handle(next, 'b1');
    },
  };
  for (const [name, tell] of Object.entries(cases)) {
    test(name, () => assert.deepEqual(findingsOfShared(tell), []));
  }
});
