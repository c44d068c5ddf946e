// A subscription that resumes by itself, its cursors, and the verification of events.
import { createPublicKey, verify as verifySignature } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ServiceError } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { StampgateError } from './errors.js';
import type { Reason } from './errors.js';
import type { Gateway } from './gateway.js';
import { EventService } from './gen/stampgate/v1/event_service_pb.js';
import type { SubscribeRequestSchema } from './gen/stampgate/v1/event_service_pb.js';
import { LogEnd } from './gen/stampgate/v1/events_pb.js';
import type { Event } from './gen/stampgate/v1/events_pb.js';
import type { WebhookKey } from './gen/stampgate/v1/webhooks_pb.js';
import { MOST_TLS_FAILURES, backoffMs, isBroken, isTlsFailure, pause } from './retry.js';

/** Keeps the cursor of the last event that a subscriber has processed. */
export interface CursorStore {
  /** The saved cursor, or undefined if none was saved. */
  load(): string | undefined | Promise<string | undefined>;
  save(cursor: string): void | Promise<void>;
}

/** Keeps the cursor in a file, which it replaces by a rename. */
export class FileCursor implements CursorStore {
  constructor(readonly path: string) {}

  load(): string | undefined {
    try {
      const cursor = readFileSync(this.path, 'utf8').trim();
      if (cursor === '') throw new Error(`${this.path} contains no cursor`);
      return cursor;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  save(cursor: string): void {
    writeFileSync(`${this.path}.new`, cursor);
    renameSync(`${this.path}.new`, this.path);
  }
}

export interface SubscribeOptions {
  /**
   * Where to start: after this cursor, or after the cursor of the store. The store receives the cursor of an event after
   * the body of the loop has ended for this event, and the cursor of each heartbeat.
   */
  cursor?: string | CursorStore;
  /** Ends the loop, without an error. */
  signal?: AbortSignal;
  /** Receives the cursor of each message without events. */
  onHeartbeat?: (cursor: string) => void;
}

const GAPS: string[] = [
  'EVENTS_TRIMMED',
  'CURSOR_OF_ANOTHER_LOG',
  'CURSOR_AHEAD_OF_LOG',
  'EVENTS_LOST',
  'EVENT_DAMAGED',
] satisfies Reason[];

/** The event log cannot continue at the cursor: the subscriber does not receive some events. */
export class Gap extends StampgateError {
  override name = 'Gap';
  /** The cursor at which to continue. Undefined if only a time or an end of the event log is possible. */
  readonly cursor: string | undefined;

  constructor(cause: ServiceError) {
    super(cause);
    this.cursor = this.metadata['earliest_cursor'] ?? this.metadata['next_cursor'];
  }
}

export async function* subscribe(
  gateway: Gateway,
  request: MessageInitShape<typeof SubscribeRequestSchema>,
  { cursor: start, signal, onHeartbeat }: SubscribeOptions = {},
): AsyncGenerator<Event, void, undefined> {
  const store = typeof start === 'object' ? start : undefined;
  let cursor = typeof start === 'object' ? await start.load() : start;
  const passed = async (next: string) => {
    cursor = next;
    await store?.save(next);
  };
  let tlsFailures = 0;
  for (let repetition = 0; !signal?.aborted; repetition += 1) {
    let failure: StampgateError | undefined;
    const messages = gateway.stream(EventService.method.subscribe, startingAt(cursor, request), { signal });
    try {
      for await (const { events, cursor: next } of messages) {
        repetition = 0;
        for (const event of events) {
          yield event;
          await passed(event.cursor);
        }
        if (next !== cursor) await passed(next);
        if (events.length === 0) onHeartbeat?.(next);
      }
    } catch (error) {
      if (signal?.aborted) return;
      failure = resumable(error);
      tlsFailures = isTlsFailure(failure) ? tlsFailures + 1 : 0;
      if (tlsFailures === MOST_TLS_FAILURES) throw failure;
      const resumeAt = failure.metadata['cursor'];
      if (resumeAt !== undefined) await passed(resumeAt);
    }
    await pause(backoffMs(repetition, failure), signal);
  }
}

function startingAt(
  cursor: string | undefined,
  request: MessageInitShape<typeof SubscribeRequestSchema>,
): MessageInitShape<typeof SubscribeRequestSchema> {
  if (cursor !== undefined) return { ...request, start: { case: 'cursor', value: cursor } };
  return { start: { case: 'end', value: LogEnd.EARLIEST }, ...request };
}

/** The error, if the subscription can resume after it. Throws every other error. */
function resumable(error: unknown): StampgateError {
  if (!(error instanceof StampgateError)) throw error;
  if (GAPS.includes(error.reason)) throw new Gap(error.cause as ServiceError);
  const canResume = error.code === status.UNAVAILABLE || error.retryDelayMs !== undefined || isBroken(error);
  if (!canResume) throw error;
  return error;
}

/**
 * Whether upstream has signed the event with one of these keys, which `WebhookService.getWebhookKeySet` returns. A valid
 * signature does not prove that the event concerns your organization: check `organizationId`.
 * @param body the whole body, which `EventService.readEventBody` returns, if `event.bodyOmitted` is true
 */
export function verify(event: Event, keys: readonly Pick<WebhookKey, 'kid' | 'x'>[], body = event.body): boolean {
  const { signature } = event;
  const key = keys.find(({ kid }) => kid === signature?.keyId);
  if (!signature || !key) return false;
  const publicKey = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: key.x } });
  const head = `v1.ed25519.${signature.keyId}.${signature.timestamp}.${event.eventId}.`;
  return verifySignature(null, Buffer.concat([Buffer.from(head), body]), publicKey, signature.signature);
}
