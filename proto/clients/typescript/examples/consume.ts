// Handles the events of a shared subscription, until SIGTERM or Ctrl-C. Run it several times: the programs divide the
// events.
//
//   node consume.ts GATEWAY SUBSCRIPTION
import { Gap, Park, connect } from '@stampgate/client';
import { ActivityStatus } from '@stampgate/client/v1';
import type { Delivery } from '@stampgate/client/v1';

const [address = '127.0.0.1:7443', subscription = 'payouts'] = process.argv.slice(2);
const gateway = connect(address);
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());

/** Doing this twice must do no harm. If it throws an error, the event is delivered again later. */
function handle({ event }: Delivery) {
  if (event?.decoded.case !== 'activity') throw new Park(`this service handles no events of type ${event?.type}`);
  console.log(event.eventId, ActivityStatus[event.decoded.value.status]);
}

while (!stop.signal.aborted) {
  try {
    await gateway.consume(subscription, handle, { signal: stop.signal });
  } catch (error) {
    if (!(error instanceof Gap)) throw error;
    // Events are missing. Read the current state from upstream, and continue after the gap.
    console.error(`events are missing: ${error.reason}: ${error.message}`);
  }
}
gateway.close();
