// Prints each event, until Ctrl-C. Started again, the program continues after the last event that it has printed.
//
//   node subscribe_and_resume.ts GATEWAY CURSOR_FILE
import { FileCursor, Gap, connect } from '@stampgate/client';
import { ActivityStatus } from '@stampgate/client/v1';
import type { Event } from '@stampgate/client/v1';

const [address = '127.0.0.1:7443', path = 'typescript.cursor'] = process.argv.slice(2);
const gateway = connect(address);
const cursor = new FileCursor(path);
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());

/** Doing this twice must do no harm. */
function handle({ eventId, type, decoded }: Event) {
  console.log(eventId, type, decoded.case === 'activity' ? ActivityStatus[decoded.value.status] : '');
}

/** Returns when Ctrl-C ends the subscription, or when events are missing and the cursor cannot continue. */
async function readEvents() {
  while (!stop.signal.aborted) {
    try {
      // The cursor of an event is saved when the body of the loop has ended.
      for await (const event of gateway.subscribe({}, { cursor, signal: stop.signal })) handle(event);
    } catch (error) {
      if (!(error instanceof Gap)) throw error;
      console.error(`events are missing: ${error.reason}: ${error.message}`);
      if (error.cursor === undefined) {
        console.error(`the event log cannot continue at the cursor: delete ${path} to begin again`);
        process.exitCode = 1;
        return;
      }
      await cursor.save(error.cursor); // continues after the missing events
    }
  }
}

await readEvents();
gateway.close();
