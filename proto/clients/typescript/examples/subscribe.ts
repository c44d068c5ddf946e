// Prints each event. Started again, the program continues after the last event that it has printed.
//
//   node subscribe.js GATEWAY CURSOR_FILE
import { FileCursor, Gap, connect, verify } from '@stampgate/client';
import { EventService, WebhookService } from '@stampgate/client/v1';
import type { Event } from '@stampgate/client/v1';

const [address = '127.0.0.1:7443', path = 'cursor'] = process.argv.slice(2);
const gateway = connect(address);
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
const { keys } = await gateway.client(WebhookService).getWebhookKeySet({});

/** The body of the event, also if it was too large for the subscription. */
async function bodyOf({ eventId, organizationId, body, bodyOmitted }: Event): Promise<Uint8Array> {
  if (!bodyOmitted) return body;
  const pieces: Uint8Array[] = [];
  for await (const { chunk } of gateway.client(EventService).readEventBody({ eventId, organizationId })) {
    pieces.push(chunk);
  }
  return Buffer.concat(pieces);
}

async function handle(event: Event) {
  const isValid = verify(event, keys, await bodyOf(event));
  const { case: type, value } = event.decoded;
  console.log(event.eventId, event.type, type === 'activity' ? value.id : '', isValid ? 'valid' : 'INVALID');
}

const cursor = new FileCursor(path);
while (!stop.signal.aborted) {
  try {
    // The cursor of an event is saved when the body of the loop has ended.
    for await (const event of gateway.subscribe({}, { cursor, signal: stop.signal })) await handle(event);
  } catch (error) {
    if (!(error instanceof Gap) || error.cursor === undefined) throw error;
    console.error(`events are missing: ${error.message}`);
    await cursor.save(error.cursor); // continues after the missing events
  }
}
gateway.close();
