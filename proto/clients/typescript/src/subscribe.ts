// A subscription that resumes by itself.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { CursorStore } from './cursor.js';
import { StampgateError, type Reason } from './errors.js';
import type { Gateway } from './gateway.js';
import { Backoff } from './retry.js';
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

/** The event log cannot continue at the cursor: the subscriber does not receive some events. */
export class Gap extends StampgateError {
  override name = 'Gap';
  /** The cursor at which to continue. Undefined if only a time or an end of the event log is possible. */
  readonly cursor = this.metadata['earliest_cursor'] ?? this.metadata['next_cursor'];
}

const GAPS: string[] = [
  'EVENTS_TRIMMED',
  'CURSOR_OF_ANOTHER_LOG',
  'CURSOR_AHEAD_OF_LOG',
  'EVENTS_LOST',
  'EVENT_DAMAGED',
] satisfies Reason[];

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
  let backoff = new Backoff(signal);
  let failure: StampgateError | undefined;
  do {
    const start: SubscribeRequest['start'] = cursor === undefined ? first : { case: 'cursor', value: cursor };
    try {
      for await (const message of this.stream(EventService.method.subscribe, { ...request, start }, { signal })) {
        backoff = new Backoff(signal);
        for (const event of message.events) {
          if (signal?.aborted) return;
          yield event;
          await passed(event.cursor);
        }
        await passed(message.cursor);
      }
      failure = undefined;
    } catch (error) {
      if (!(error instanceof StampgateError)) throw error;
      failure = error;
      if (GAPS.includes(failure.reason)) throw new Gap(failure.cause);
      await passed(failure.metadata['cursor']);
    }
  } while (await backoff.wait(failure));
  if (failure && !signal?.aborted) throw failure;
}
