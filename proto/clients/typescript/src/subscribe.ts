// A subscription that resumes by itself.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { CursorStore } from './cursor.js';
import type { StampgateError } from './errors.js';
import type { Gateway } from './gateway.js';
import { resumed } from './resume.js';
import { EventService, LogEnd, SubscribeRequestSchema, type Event, type SubscribeRequest } from './v1.js';

export interface SubscribeOptions {
  /**
   * Where to start: after this cursor, or after the cursor of the store. The store receives the cursor of an event after
   * the body of the loop has ended for this event, and the cursor of each heartbeat.
   */
  cursor?: string | CursorStore;
  /** Ends the loop, without an error. */
  signal?: AbortSignal;
}

const BEGINNING: SubscribeRequest['start'] = { case: 'end', value: LogEnd.EARLIEST };

export async function* subscribe(
  this: Gateway,
  init: MessageInitShape<typeof SubscribeRequestSchema> = {},
  { cursor: origin, signal }: SubscribeOptions = {},
): AsyncGenerator<Event, void, undefined> {
  const request = create(SubscribeRequestSchema, init);
  const first = request.start.case ? request.start : BEGINNING;
  const store: CursorStore = typeof origin === 'object' ? origin : { load: () => origin, save: () => {} };
  let cursor = await store.load();
  const passed = async (next: string | undefined) => {
    if (!next || next === cursor) return;
    cursor = next;
    await store.save(next);
  };
  const next = () => {
    const start: SubscribeRequest['start'] = cursor === undefined ? first : { case: 'cursor', value: cursor };
    return { ...request, start };
  };
  const ended = ({ metadata }: StampgateError) => passed(metadata['cursor']);
  for await (const message of resumed(this, EventService.method.subscribe, next, { signal, ended })) {
    for (const event of message.events) {
      if (signal?.aborted) return;
      yield event;
      await passed(event.cursor);
    }
    await passed(message.cursor);
  }
}
