// A consumer of events that misses none: it saves the cursor of processed events, and starts again there.
//
//   node deploy/subscriber.mjs GATEWAY CURSOR_FILE    prints a line for each event, until Ctrl-C
//
// It may receive events again whose cursor it has not saved, so processing an event twice must do no harm. A real
// consumer saves its cursor in the same transaction as its results.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { code, connect, stream } from '../tests/clients/gateway.mjs';

const [gateway, cursorFile] = process.argv.slice(2);
if (!cursorFile) {
  console.error('usage: subscriber.mjs GATEWAY CURSOR_FILE');
  process.exit(2);
}

function keep(cursor) {
  writeFileSync(`${cursorFile}.new`, cursor);
  renameSync(`${cursorFile}.new`, cursorFile);
}

function dealWith({ type, event_id: eventId, activity }) {
  console.log(activity ? `${type} ${activity.type} ${activity.status} ${activity.id}` : `${type} ${eventId}`);
}

const client = connect(gateway);
for (;;) {
  const start = existsSync(cursorFile)
    ? { cursor: readFileSync(cursorFile, 'utf8') }
    : { end: 'LOG_END_EARLIEST' };
  console.log(`subscribing ${start.cursor ? 'where it stopped' : 'from the beginning'}`);
  try {
    for await (const { events = [], cursor } of stream(client, 'EventService/Subscribe', start)) {
      events.forEach(dealWith);
      keep(cursor);
      if (events.length > 0) console.log('place kept');
    }
  } catch (error) {
    // The gateway restarts or cannot be reached; any other error needs an operator.
    if (error.code !== code.UNAVAILABLE) throw error;
    const { seconds = 0, nanos = 0 } = error.retryInfo?.retry_delay ?? { seconds: 1 };
    console.log(`${error.details}; trying again`);
    await delay(Number(seconds) * 1000 + nanos / 1e6);
  }
}
