// Calls that return a stream, and are made again after the stream has ended.
import type { DescMethodServerStreaming, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { StampgateError, type Reason } from './errors.js';
import type { Gateway } from './gateway.js';
import { Backoff } from './retry.js';

/** Events are missing: the subscriber, or the consumers of a shared subscription, do not receive some events. */
export class Gap extends StampgateError {
  override name = 'Gap';
  /**
   * The cursor at which a subscription continues. Undefined if only a time or an end of the event log is possible, and
   * for a shared subscription, which continues by itself.
   */
  readonly cursor = this.metadata['earliest_cursor'] ?? this.metadata['next_cursor'];
}

const GAPS: string[] = [
  'EVENTS_TRIMMED',
  'CURSOR_OF_ANOTHER_LOG',
  'CURSOR_AHEAD_OF_LOG',
  'EVENTS_LOST',
  'EVENT_DAMAGED',
] satisfies Reason[];

interface ResumeOptions {
  /** Ends the messages, without an error. */
  signal?: AbortSignal;
  /** Called with the error of a stream, before the next request is made. */
  ended?: (failure: StampgateError) => Promise<void>;
}

/**
 * Yields the messages of one stream after another, each with the request that `next` returns.
 * @throws {Gap} if events are missing
 * @throws {StampgateError} if a repetition cannot help
 */
export async function* resumed<Method extends DescMethodServerStreaming>(
  gateway: Gateway,
  method: Method,
  next: () => MessageInitShape<Method['input']>,
  { signal, ended }: ResumeOptions,
): AsyncGenerator<MessageShape<Method['output']>, void, undefined> {
  let backoff = new Backoff(signal);
  let failure: StampgateError | undefined;
  do {
    failure = undefined;
    try {
      for await (const message of gateway.stream(method, next(), { signal })) {
        backoff = new Backoff(signal);
        yield message;
      }
    } catch (error) {
      if (!(error instanceof StampgateError)) throw error;
      if (GAPS.includes(error.reason)) throw new Gap(error.cause);
      failure = error;
      await ended?.(failure);
    }
  } while (await backoff.wait(failure));
  if (failure && !signal?.aborted) throw failure;
}
