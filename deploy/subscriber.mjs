// A subscriber that misses no event: it saves the cursor of the events that it has processed, and resumes at that
// cursor.
//
//   node deploy/subscriber.mjs GATEWAY CURSOR_FILE    prints a line for each event, until Ctrl-C
//
// If the subscriber ends before it has saved the cursor of an event, it receives this event again. Processing an event
// twice must therefore do no harm. In production, save the cursor in the same transaction as the results.
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
  const start = existsSync(cursorFile) ? { cursor: readFileSync(cursorFile, 'utf8') } : { end: 'LOG_END_EARLIEST' };
  console.log(`subscribing from ${start.cursor ? 'the saved cursor' : 'the beginning'}`);
  try {
    for await (const { events = [], cursor } of stream(client, 'EventService/Subscribe', start)) {
      events.forEach(dealWith);
      keep(cursor);
      if (events.length > 0) console.log('saved the cursor');
    }
  } catch (error) {
    // UNAVAILABLE: the gateway restarts or cannot be reached. Any other error needs an operator.
    if (error.code !== code.UNAVAILABLE) throw error;
    const { seconds = 0, nanos = 0 } = error.retryInfo?.retry_delay ?? { seconds: 1 };
    console.log(`${error.details}; trying again`);
    await delay(Number(seconds) * 1000 + nanos / 1e6);
  }
}
