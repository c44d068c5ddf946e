// Tests the judge of histories of shared subscriptions: it finds every kind of fault in made-up histories.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { excerpt } from './subscription_history/excerpt.mjs';
import { PARKED, SETTLE_WITHIN_MS, Story, event, findings, park } from './subscription_history/story.mjs';

test('an excerpt has the records about the events of a finding', () => {
  const story = new Story();
  const stream = story.consume('A');
  const [first, second] = [story.deliver(stream, 'a1'), story.deliver(stream, 'b1')];
  story.settle(first);
  story.settle(second);
  const lines = excerpt(story.history(), ['b1 is lost: nobody settled it as DONE']);
  assert.deepEqual(
    lines.map((line) => line.split(' ')[1]),
    ['stream', 'delivery', 'settle', 'drained', 'listParked'],
  );
  assert.match(lines[1], /"event":"b1"/);
  assert.match(lines[2], /"tokens":\["b1 1 A"\],"outcome":"DONE"/);
});

describe('the judge finds', () => {
  /** @type {Record<string, [import('./subscription_history/story.mjs').Tell, string[]]>} */
  const cases = {
    'a lost event': [
      (story) => void story.handle(story.consume('A'), 'a1', 'a2'),
      ['b1 is lost: nobody settled it as DONE, and it is not parked'],
    ],
    'an event that was settled only with a token that is not valid any more': [
      (story) => {
        const stream = story.consume('A');
        story.handle(stream, 'a1', 'a2');
        const token = story.deliver(stream, 'b1');
        story.settle(token, 'RETRY');
        story.deliver(stream, 'b1', 2, 'RETRY');
        story.settle(token, 'DONE', { superseded: [token] });
      },
      ['b1 is lost: nobody settled it as DONE, and it is not parked'],
    ],
    'consumers that cannot settle everything': [
      (story) => {
        story.handle(story.consume('A'), 'a1', 'a2', 'b1');
        story.isDrained = false;
      },
      ['the consumers could not settle everything'],
    ],
    'an event that is delivered again after it was settled, although the gateway was killed': [
      (story) => {
        const stream = story.consume('A');
        story.handle(stream, 'a1', 'a2', 'b1');
        story.end(stream);
        story.add('restart');
        story.ms += SETTLE_WITHIN_MS;
        story.settle(story.deliver(story.consume('A'), 'b1', 2, 'GATEWAY_RESTARTED'));
      },
      ['delivery 2 of b1 to A (GATEWAY_RESTARTED) followed after delivery 1 was settled as DONE'],
    ],
    'an event that the log does not have': [
      (story) => void story.handle(story.consume('A'), 'a1', 'a2', 'b1', 'c1'),
      ['delivery 1 of c1 to A: the log does not have this event'],
    ],
    'an event that the filter does not pass': [
      (story) => {
        story.settings.types = ['ACTIVITY_UPDATES'];
        story.log.push(event('c1', 'other'));
        story.handle(story.consume('A'), 'a1', 'a2', 'b1', 'c1');
      },
      ['delivery 1 of c1 to A: the filter does not pass this event'],
    ],
    'an event before the place of a Seek': [
      (story) => {
        const stream = story.consume('A');
        story.add('seek', { passes: ['a1', 'a2', 'b1'] });
        story.handle(stream, 'b1');
      },
      ['delivery 1 of b1 to A: a Seek had passed this event'],
    ],
    'an order that is lost for no reason': [
      (story) => {
        const stream = story.consume('A');
        story.handle(stream, 'a1', 'a2');
        story.settle(story.deliver(stream, 'b1', 1, 'FIRST', /* retried= */ true));
      },
      ['delivery 1 of b1 to A: nobody had called RetryParked for this event'],
    ],
    'a stream that ends with a wrong error': [
      (story) => {
        const stream = story.consume('A');
        story.handle(stream, 'a1', 'a2', 'b1');
        story.end(stream, { ending: 'INTERNAL' });
      },
      ['stream A1 ended with INTERNAL'],
    ],
    'a settle that fails with a wrong error': [
      (story) => {
        const stream = story.consume('A');
        story.handle(stream, 'a1', 'a2');
        story.settle(story.deliver(stream, 'b1'), 'DONE', { error: 'INVALID_ARGUMENT DELIVERY_TOKEN_INVALID' });
      },
      ['a settle as DONE failed with INVALID_ARGUMENT DELIVERY_TOKEN_INVALID'],
    ],
    'an unexpected end of the process': [
      (story) => {
        story.handle(story.consume('A'), 'a1', 'a2', 'b1');
        story.faults.push('it ended with SIGABRT');
      },
      ['it ended with SIGABRT'],
    ],
    'a parked event that is lost': [
      (story) => {
        const stream = story.consume('A');
        story.handle(stream, 'a1', 'a2');
        park(story, stream, 'b1');
        story.add('restart');
      },
      [
        'b1 was parked, and the list of parked events does not have it',
        'b1 is lost: nobody settled it as DONE, and it is not parked',
      ],
    ],
    'a parked event that a list had, and a later one does not have': [
      (story) => {
        const stream = story.consume('A');
        story.handle(stream, 'a1', 'a2');
        story.settle(story.deliver(stream, 'b1'), 'PARK', { error: 'UNAVAILABLE' });
        story.add('listParked', { parked: { b1: { count: 1, reason: '' } } });
      },
      [
        'b1 was parked, and the list of parked events does not have it',
        'b1 is lost: nobody settled it as DONE, and it is not parked',
      ],
    ],
    'an event that is parked for no reason': [
      (story) => {
        const stream = story.consume('A');
        story.handle(stream, 'a1', 'a2');
        story.deliver(stream, 'b1');
        return { b1: { count: 1, reason: 'max_deliveries: it was delivered 1 times' } };
      },
      ['b1 is parked after 1 deliveries for no reason: max_deliveries: it was delivered 1 times'],
    ],
    'retention that deletes unsettled events without a report': [
      (story) => {
        story.handle(story.consume('A'), 'a1', 'a2');
        story.add('retention', { events: ['a1', 'a2', 'b1'] });
      },
      ['retention deleted 1 unsettled events such as b1, and no consumer got an error'],
    ],
  };
  for (const [name, [tell, expected]] of Object.entries(cases)) {
    test(name, () => assert.deepEqual(findings(tell), expected));
  }

  /** @type {Record<string, [import('./subscription_history/story.mjs').Tell, string[]]>} */
  const order = {
    'another consumer, while a consumer holds an earlier event of the key': [
      (story) => {
        const [first, second] = [story.consume('A'), story.consume('B')];
        const token = story.deliver(first, 'a1');
        story.handle(second, 'a2', 'b1');
        story.settle(token);
      },
      ['delivery 1 of a2 to B (FIRST): consumer A held the earlier event a1 of its key'],
    ],
    'an event before an earlier one of its key': [
      (story) => void story.handle(story.consume('A'), 'a2', 'a1', 'b1'),
      ['delivery 1 of a2 to A (FIRST): the earlier event a1 of its key was not delivered before'],
    ],
    'an event while an earlier one of its key is delivered again': [
      (story) => {
        const stream = story.consume('A');
        story.settle(story.deliver(stream, 'a1'), 'RETRY');
        const again = story.deliver(stream, 'a1', 2, 'RETRY');
        story.handle(stream, 'a2', 'b1');
        story.settle(again);
      },
      ['delivery 1 of a2 to A (FIRST): the earlier event a1 of its key was delivered again, and not settled'],
    ],
  };
  for (const [name, [tell, expected]] of Object.entries(order)) {
    test(`an order that is broken: ${name}`, () => assert.deepEqual(findings(tell), expected));
  }

  const reasons = {
    'RETRY without a settle': ['RETRY', 'nobody had settled the delivery before as RETRY'],
    'TIMEOUT within the time': ['TIMEOUT', 'the time of the delivery before was not over'],
    'CONSUMER_LEFT while the consumer is there': ['CONSUMER_LEFT', 'the consumer A had not left'],
    'EARLIER_EVENT without an earlier event': ['EARLIER_EVENT', 'no earlier event of its key was delivered again'],
    'GATEWAY_RESTARTED without a restart': [
      'GATEWAY_RESTARTED',
      'the gateway had not restarted since the delivery before',
    ],
    'UNPARKED without RetryParked': ['UNPARKED', 'nobody had called RetryParked since the delivery before'],
    'SEEK without a Seek': ['SEEK', 'no Seek had moved the subscription back'],
    'FIRST for a second delivery': ['FIRST', 'it is not the first one'],
    'no reason': ['UNSPECIFIED', 'there is no such reason'],
  };
  for (const [name, [reason, why]] of Object.entries(reasons)) {
    test(`a wrong reason of a delivery: ${name}`, () => {
      const tell = (story) => {
        const stream = story.consume('A');
        story.handle(stream, 'a1', 'a2');
        story.deliver(stream, 'b1');
        story.settle(story.deliver(stream, 'b1', 2, reason));
      };
      assert.deepEqual(findings(tell), [`delivery 2 of b1 to A (${reason}): ${why}`]);
    });
  }

  test('GATEWAY_RESTARTED before the time after the restart is over', () => {
    const tell = (story) => {
      const stream = story.consume('A');
      story.handle(stream, 'a1', 'a2');
      story.deliver(stream, 'b1');
      story.end(stream);
      story.add('restart');
      story.settle(story.deliver(story.consume('A'), 'b1', 2, 'GATEWAY_RESTARTED'));
    };
    const why = 'the time after the restart was not over';
    assert.deepEqual(findings(tell), [`delivery 2 of b1 to A (GATEWAY_RESTARTED): ${why}`]);
  });

  /** @type {Record<string, [import('./subscription_history/story.mjs').Tell, string[]]>} */
  const counts = {
    'a count that a restart has forgotten': [
      (story, stream) => {
        story.settle(story.deliver(stream, 'b1'), 'RETRY');
        story.deliver(stream, 'b1', 2, 'RETRY');
        story.end(stream);
        story.add('restart');
        story.ms += SETTLE_WITHIN_MS;
        story.settle(story.deliver(story.consume('A'), 'b1', 1, 'GATEWAY_RESTARTED'));
      },
      ['delivery 1 of b1 to A (GATEWAY_RESTARTED) followed after delivery 2'],
    ],
    'a count of deliveries that nobody can have lost': [
      (story, stream) => {
        story.settle(story.deliver(stream, 'b1'), 'RETRY');
        story.settle(story.deliver(stream, 'b1', 3, 'RETRY'));
      },
      ['delivery 3 of b1 to A: at most 2 deliveries are possible'],
    ],
    'an event that is not parked after max_deliveries': [
      (story, stream) => {
        story.settings.maxDeliveries = 1;
        story.settle(story.deliver(stream, 'b1'), 'RETRY');
        story.settle(story.deliver(stream, 'b1', 2, 'RETRY'));
      },
      ['delivery 2 of b1 to A: it should be parked after 1 deliveries'],
    ],
  };
  for (const [name, [tell, expected]] of Object.entries(counts)) {
    test(`a wrong count: ${name}`, () => {
      const both = (story) => {
        const stream = story.consume('A');
        story.handle(stream, 'a1', 'a2');
        tell(story, stream);
      };
      assert.deepEqual(findings(both), expected);
    });
  }

  /** @type {Record<string, [import('./subscription_history/story.mjs').Tell, string[]]>} */
  const tokens = {
    'an earlier token that settles': [
      (story, stream) => {
        const token = story.deliver(stream, 'b1');
        story.settle(token, 'RETRY');
        const again = story.deliver(stream, 'b1', 2, 'RETRY');
        story.settle(token);
        story.settle(again);
      },
      // The later settle does not justify the earlier one: it began after it.
      ['delivery 1 of b1 to A was settled as DONE, although it was not the last one'],
    ],
    'a token that settles after a Seek': [
      (story, stream) => {
        const token = story.deliver(stream, 'b1');
        story.add('seek', { passes: ['a1', 'a2'] });
        story.settle(token);
        story.settle(story.deliver(stream, 'b1', 1, 'SEEK'));
      },
      [
        'delivery 1 of b1 to A (SEEK) followed after delivery 1 was settled as DONE',
        'delivery 1 of b1 to A was settled as DONE, although it was not the last one',
      ],
    ],
    'a token of a held event that does not settle': [
      (story, stream) => {
        const token = story.deliver(stream, 'b1');
        story.settle(token, 'DONE', { superseded: [token] });
        story.settle(token);
      },
      ['delivery 1 of b1 to A could not be settled as DONE, although the consumer held it'],
    ],
    'a stream that accepts an earlier token': [
      (story, stream) => {
        const held = [story.deliver(stream, 'b1')];
        story.settle(held, 'RETRY');
        const again = story.deliver(stream, 'b1', 2, 'RETRY');
        story.consume('A', { held });
        story.settle(again);
      },
      ['stream A2 did not report that delivery 1 of b1 to A was superseded'],
    ],
    'a stream that accepts the token of a settled event': [
      (story, stream) => {
        const held = [story.deliver(stream, 'b1')];
        story.settle(held);
        story.consume('A', { held });
      },
      ['stream A2 did not report that delivery 1 of b1 to A was superseded'],
    ],
    'a stream that refuses the token of a held event': [
      (story, stream) => {
        const held = [story.deliver(stream, 'b1')];
        story.end(stream);
        story.consume('A', { held, superseded: held });
        story.settle(held);
      },
      ['stream A2 reported delivery 1 of b1 to A as superseded, although the consumer held it'],
    ],
  };
  for (const [name, [tell, expected]] of Object.entries(tokens)) {
    test(name, () => {
      const both = (story) => {
        const stream = story.consume('A');
        story.handle(stream, 'a1', 'a2');
        tell(story, stream);
      };
      assert.deepEqual(findings(both), expected);
    });
  }
});

describe('the judge allows', () => {
  const cases = {
    'that events are settled late, twice and in any order': (story, stream) => {
      const tokens = ['a1', 'a2', 'b1'].map((id) => story.deliver(stream, id));
      story.settle(tokens[2], 'EXTEND');
      for (const token of tokens.reverse()) story.settle(token);
      story.settle(tokens);
    },
    'each reason of a delivery after what causes it': (story, stream) => {
      story.handle(stream, 'b1');
      story.settings.maxDeliveries = 9;
      story.settle(story.deliver(stream, 'a1'), 'RETRY');
      story.deliver(stream, 'a1', 2, 'RETRY');
      story.ms += SETTLE_WITHIN_MS;
      story.deliver(stream, 'a1', 3, 'TIMEOUT');
      story.end(stream, { left: true });
      let next = story.consume('B');
      story.deliver(next, 'a1', 4, 'CONSUMER_LEFT');
      story.end(next);
      story.add('restart');
      story.ms += SETTLE_WITHIN_MS;
      next = story.consume('B');
      story.settle(story.deliver(next, 'a1', 5, 'GATEWAY_RESTARTED'));
      story.handle(next, 'a2');
      story.add('seek', { passes: [] });
      const [first, second] = [story.deliver(next, 'a1', 1, 'SEEK'), story.deliver(next, 'a2', 1, 'SEEK')];
      story.settle(first, 'RETRY');
      story.settle(story.deliver(next, 'a1', 2, 'RETRY'));
      story.settle(second, 'DONE', { superseded: [second] });
      story.settle(story.deliver(next, 'a2', 2, 'EARLIER_EVENT'));
      story.settle(story.deliver(next, 'b1', 1, 'SEEK'));
    },
    'that a consumer leaves that had resumed another event of the key': (story, stream) => {
      const first = story.deliver(stream, 'a1');
      story.deliver(stream, 'a2');
      story.settle(first, 'RETRY');
      const again = story.deliver(story.consume('B'), 'a1', 2, 'RETRY');
      story.add('restart');
      story.end(story.consume('B', { held: [again] }), { left: true });
      const other = story.consume('C');
      story.settle(story.deliver(other, 'a1', 3, 'CONSUMER_LEFT'));
      story.settle(story.deliver(other, 'a2', 2, 'CONSUMER_LEFT'));
      story.handle(other, 'b1');
    },
    'that a delivery arrives after an earlier event of its key was delivered again': (story, stream) => {
      story.handle(stream, 'b1');
      story.settle(story.deliver(stream, 'a1'), 'RETRY');
      const other = story.consume('B');
      const again = story.deliver(other, 'a1', 2, 'RETRY');
      story.deliver(stream, 'a2');
      story.settle(again);
      story.settle(story.deliver(other, 'a2', 2, 'EARLIER_EVENT'));
    },
    'that a delivery is lost with its stream, and counted': (story, stream) => {
      story.handle(stream, 'a1', 'a2');
      story.deliver(stream, 'b1');
      story.end(stream, { left: true });
      story.end(story.consume('B'), { left: true });
      story.settle(story.deliver(story.consume('C'), 'b1', 3, 'CONSUMER_LEFT'));
    },
    'that a delivery arrives after the next one of the event': (story, stream) => {
      story.handle(stream, 'a1', 'a2');
      const other = story.consume('B');
      story.settle(story.deliver(stream, 'b1'), 'RETRY');
      const last = story.deliver(other, 'b1', 3, 'TIMEOUT');
      story.deliver(stream, 'b1', 2, 'RETRY');
      story.settle(last);
    },
    'that a settle whose answer was lost has settled the event': (story, stream) => {
      story.handle(stream, 'a1', 'a2');
      story.settle(story.deliver(stream, 'b1'), 'DONE', { error: 'UNAVAILABLE' });
    },
    'that an event is parked, returned and settled': (story, stream) => {
      story.handle(stream, 'a1', 'a2');
      park(story, stream, 'b1');
      story.add('listParked', { parked: { b1: PARKED } });
      story.add('restart');
      story.add('listParked', { parked: { b1: PARKED } });
      story.add('retryParked', { events: { b1: 1 }, notParked: [] });
      story.settle(story.deliver(stream, 'b1', 1, 'UNPARKED', /* retried= */ true));
    },
    'that an event is counted from 1 again after RetryParked': (story, stream) => {
      story.handle(stream, 'a1', 'a2');
      story.settle(story.deliver(stream, 'b1'), 'RETRY');
      story.settle(story.deliver(story.consume('B'), 'b1', 2, 'RETRY'), 'PARK', { superseded: [], parkReason: 'no' });
      story.add('retryParked', { events: { b1: 2 }, notParked: [] });
      story.settle(story.deliver(stream, 'b1', 1, 'UNPARKED', /* retried= */ true), 'RETRY');
      story.settle(story.deliver(stream, 'b1', 2, 'RETRY', /* retried= */ true));
    },
    'that the first delivery after RetryParked is lost with its stream': (story, stream) => {
      story.handle(stream, 'a1', 'a2');
      park(story, stream, 'b1');
      story.add('retryParked', { events: { b1: 1 }, notParked: [] });
      story.end(story.consume('B'), { left: true });
      story.settle(story.deliver(stream, 'b1', 2, 'CONSUMER_LEFT', /* retried= */ true));
    },
    'that an event stays parked, and the next ones of its key follow': (story, stream) => {
      park(story, stream, 'a1');
      story.handle(stream, 'a2', 'b1');
      return { a1: PARKED };
    },
    'that an event is parked after max_deliveries': (story, stream) => {
      story.settings.maxDeliveries = 1;
      const token = story.deliver(stream, 'a1');
      story.settle(token, 'RETRY');
      story.handle(stream, 'a2', 'b1');
      return { a1: { count: 1, reason: 'max_deliveries: it was delivered 1 times' } };
    },
    'that SkipParked and Seek pass events': (story, stream) => {
      park(story, stream, 'a1');
      story.add('skipParked', { events: { a1: 1 }, notParked: [] });
      story.add('seek', { passes: ['a1', 'a2', 'b1'] });
    },
    'that retention deletes events, and a consumer gets an error': (story, stream) => {
      story.handle(stream, 'a1', 'a2');
      story.add('retention', { events: ['a1', 'a2', 'b1'] });
      story.end(stream, { ending: 'OUT_OF_RANGE EVENTS_TRIMMED' });
    },
    'that two consumers hold events of one key if there is no order': (story, stream) => {
      story.settings.orderBy = 'none';
      const token = story.deliver(stream, 'a1');
      story.handle(story.consume('B'), 'a2', 'b1');
      story.settle(token);
    },
  };
  for (const [name, tell] of Object.entries(cases)) {
    test(name, () =>
      assert.deepEqual(
        findings((story) => tell(story, story.consume('A'))),
        [],
      ),
    );
  }
});
