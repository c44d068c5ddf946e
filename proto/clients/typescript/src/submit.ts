// Submits that are repeated safely: with the same key, within one time limit.
import { randomUUID } from 'node:crypto';
import { clone, create, isMessage } from '@bufbuild/protobuf';
import type { DescMessage, DescMethodUnary, Message, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import { ActivityFailed, ActivityPending, ActivityRejected, OutcomeUnknown, StampgateError } from './errors.js';
import type { Reason } from './errors.js';
import type { CallOptions, Gateway } from './gateway.js';
import { ActivityStatus, WaitUntil } from './gen/stampgate/v1/activity_pb.js';
import type { Activity } from './gen/stampgate/v1/activity_pb.js';
import type { ActivityResult } from './gen/stampgate/v1/activity_result_pb.js';
import type { ClientStamp } from './gen/stampgate/v1/client_stamp_pb.js';
import { MOST_TLS_FAILURES, backoffMs, isBroken, isTlsFailure, pause } from './retry.js';

export interface SubmitOptions extends CallOptions {
  /** The idempotency key. By default the request's own one or, if it has none, a new UUID. */
  key?: string;
  /** Waits until the activity has ended or the time limit has passed. */
  wait?: boolean;
}

/** The result of an activity: `case` names the member, `value` is its message. */
export type SubmitResult = ActivityResult['result'];

/** A type that only methods whose response contains an activity have. */
export type ActivityOf<O extends DescMessage> = MessageShape<O> extends { activity?: Activity } ? unknown : never;

/** The fields that the requests of all submits have. */
type Submit = Message & {
  timestampMs?: bigint;
  idempotencyKey?: string;
  waitUntil?: WaitUntil;
  clientStamp?: ClientStamp;
};

/** The time limit of one try: a try whose connection hangs leaves time for another one. */
const TRY_MS = 10_000;

/** Errors whose code is repeatable, but whose repetition cannot help. */
const FINAL: string[] = ['OUTCOME_NOT_STORED', 'IDEMPOTENCY_KEY_UNCERTAIN'] satisfies Reason[];

/** Errors after which upstream may have acted. */
const OPEN: string[] = [
  'OUTCOME_UNKNOWN',
  'OUTCOME_NOT_STORED',
  'IDEMPOTENCY_KEY_UNCERTAIN',
  'IDEMPOTENCY_UNAVAILABLE',
] satisfies Reason[];

const REPEATABLE = [status.UNAVAILABLE, status.UNKNOWN, status.DEADLINE_EXCEEDED];

const isRepeatable = (error: StampgateError): boolean =>
  !FINAL.includes(error.reason) &&
  (REPEATABLE.includes(error.code) || isBroken(error) || error.retryDelayMs !== undefined);

const isOpen = (error: StampgateError): boolean =>
  (isBroken(error) && !isTlsFailure(error)) || (error.domain === 'stampgate' && OPEN.includes(error.reason));

export async function submit<I extends DescMessage, O extends DescMessage>(
  gateway: Gateway,
  method: DescMethodUnary<I, O>,
  init: MessageInitShape<I>,
  { key, wait = false, timeoutMs = gateway.timeoutMs, ...options }: SubmitOptions = {},
): Promise<SubmitResult> {
  const deadline = Date.now() + timeoutMs;
  const request = repeatable(method.input, init, { key, wait });
  let tlsFailures = 0;
  let pending: Activity | undefined;
  let open: StampgateError['metadata'] | undefined;
  for (let repetition = 0; ; repetition += 1) {
    const remaining = deadline - Date.now();
    const triedFor = wait ? remaining : Math.min(remaining, TRY_MS);
    const outcome = await tryOnce(gateway, method, request, { ...options, timeoutMs: triedFor });
    const error = outcome instanceof StampgateError ? outcome : undefined;
    if (!(outcome instanceof StampgateError)) {
      if (isFinal(outcome)) return resultOf(outcome);
      pending = outcome;
    } else if (isOpen(outcome)) {
      if (!open || outcome.metadata['fingerprint']) open = outcome.metadata;
    } else if (outcome.domain === 'upstream') {
      open = undefined;
    }
    tlsFailures = error && isTlsFailure(error) ? tlsFailures + 1 : 0;
    const delay = backoffMs(repetition, error);
    const canRepeat = error ? isRepeatable(error) && tlsFailures < MOST_TLS_FAILURES : wait;
    if (!canRepeat || options.signal?.aborted || Date.now() + delay >= deadline) {
      if (pending) throw new ActivityPending(pending);
      throw open ? new OutcomeUnknown(error!.cause as ServiceError, request, open) : error;
    }
    await pause(delay, options.signal);
  }
}

/** A copy of the request by which upstream recognizes a repetition. */
function repeatable(
  type: DescMessage,
  init: Record<string, unknown>,
  { key, wait }: { key: string | undefined; wait: boolean },
): Submit {
  const request = (isMessage(init, type) ? clone(type, init) : create(type, init)) as Submit;
  if (key !== undefined) request.idempotencyKey = key;
  // A stamp covers the timestamp of its body.
  const isRepeatable = [request.idempotencyKey, request.timestampMs, request.clientStamp].some(
    (value) => value !== undefined,
  );
  if (!isRepeatable) request.idempotencyKey = randomUUID();
  if (wait) request.waitUntil = WaitUntil.FINAL;
  return request;
}

/** The activity, or the error of the call. */
async function tryOnce(
  gateway: Gateway,
  method: DescMethodUnary,
  request: Submit,
  options: CallOptions,
): Promise<Activity | StampgateError> {
  try {
    const { activity } = (await gateway.call(method, request, options)) as Message & { activity?: Activity };
    if (!activity) throw new TypeError(`the response of ${method.name} contains no activity`);
    return activity;
  } catch (error) {
    if (error instanceof StampgateError) return error;
    throw error;
  }
}

const FINAL_STATUSES = [ActivityStatus.COMPLETED, ActivityStatus.FAILED, ActivityStatus.REJECTED];

const isFinal = ({ status }: Activity): boolean => FINAL_STATUSES.includes(status);

function resultOf(activity: Activity): SubmitResult {
  if (activity.status === ActivityStatus.FAILED) throw new ActivityFailed(activity);
  if (activity.status === ActivityStatus.REJECTED) throw new ActivityRejected(activity);
  return activity.result?.result ?? { case: undefined };
}
