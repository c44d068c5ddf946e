// A consumer of a shared subscription. If you run several, they divide the events.
//
//   node deploy/consumer.mjs GATEWAY SUBSCRIPTION [MILLISECONDS]    prints a line for each event, until Ctrl-C
//
// MILLISECONDS is how long the consumer handles an event. The gateway keeps what is settled, so a consumer needs no disk.
// If it ends before it has settled an event, another consumer receives the event: handling it twice must do no harm.
import { setTimeout as delay } from 'node:timers/promises';
import { call, code, connect, stream } from '../tests/clients/gateway.mjs';

const [gateway, subscription, milliseconds = '0'] = process.argv.slice(2);
if (!subscription) {
  console.error('usage: consumer.mjs GATEWAY SUBSCRIPTION [MILLISECONDS]');
  process.exit(2);
}

async function handle({ event, reason }) {
  const what = event.activity ? `${event.activity.type} ${event.activity.id}` : event.event_id;
  console.log(`handles ${what} (${reason})`);
  await delay(Number(milliseconds));
  console.log(`has handled ${what}`);
}

const client = connect(gateway);
let held = []; // the deliveries that are not settled
for (;;) {
  // This consumer handles one event at a time, so it holds no others.
  const request = { subscription, max_unsettled: 1, held_tokens: held.map(({ token }) => token) };
  try {
    for await (const message of stream(client, 'SubscriptionService/Consume', request)) {
      // The first message of a stream has it.
      if (message.settle_within_ms) console.log(`consumes ${subscription}`);
      const { deliveries = [], superseded_tokens: superseded = [] } = message;
      held = [...held.filter(({ token }) => !superseded.includes(token)), ...deliveries];
      for (; held.length > 0; held.shift()) {
        await handle(held[0]);
        const settled = { subscription, tokens: [held[0].token], outcome: 'SETTLE_OUTCOME_DONE' };
        await call(client, 'SubscriptionService/Settle', settled);
      }
    }
  } catch (error) {
    // UNAVAILABLE: the gateway restarts or cannot be reached. Any other error needs an operator.
    if (error.code !== code.UNAVAILABLE) throw error;
    const { seconds = 0, nanos = 0 } = error.retryInfo?.retry_delay ?? { seconds: 1 };
    console.log(`${error.details}; consuming again`);
    await delay(Number(seconds) * 1000 + nanos / 1e6);
  }
}
