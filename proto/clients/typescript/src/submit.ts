// Submits that are repeated safely: with the same key, within one time limit.
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import type { DescMethodUnary, Message, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { StampgateError } from './errors.js';
import type { CallOptions, Gateway } from './gateway.js';
import { ActivityFailed, ActivityPending, ActivityRejected, OutcomeUnknown } from './outcomes.js';
import { Backoff, isCutOff, mayHaveActed } from './retry.js';
import { ActivityStatus, WaitUntil, type Activity, type ActivityResult, type CreatePoliciesRequest } from './v1.js';

export interface SubmitOptions extends CallOptions {
  /** The idempotency key. By default the request's own one or, if it has none, a new UUID. */
  key?: string;
  /** Waits until the activity has ended or the time limit has passed. */
  wait?: boolean;
}

/** The result of an activity: `case` names the member, `value` is its message. */
export type SubmitResult = ActivityResult['result'];

/** The response of a submit. */
type SubmitResponse = Message & { activity?: Activity };

/** A type that only methods whose response contains an activity have. */
type OfSubmit<Method extends DescMethodUnary> = 'activity' extends keyof MessageShape<Method['output']>
  ? unknown
  : never;

/** The fields that the requests of all submits have. */
type Submittable = Partial<Pick<CreatePoliciesRequest, 'timestampMs' | 'idempotencyKey' | 'waitUntil' | 'clientStamp'>>;

/** The time limit of one try: a try whose connection hangs leaves time for another one. */
const TRY_MS = 10_000;

export async function submit<Method extends DescMethodUnary>(
  this: Gateway,
  method: Method & OfSubmit<Method>,
  init: MessageInitShape<Method['input']>,
  { key, wait, timeoutMs = this.timeoutMs, ...options }: SubmitOptions = {},
): Promise<SubmitResult> {
  const deadline = Date.now() + timeoutMs;
  const backoff = new Backoff(options.signal, deadline);
  const request: Message & Submittable = create(method.input, repeatable(init as Submittable, key, wait));
  const isWaiting = request.waitUntil === WaitUntil.FINAL;
  let pending: Activity | undefined;
  let open: StampgateError['metadata'] | undefined;
  let last: StampgateError | undefined;
  for (;;) {
    const remaining = deadline - Date.now();
    const limit = { timeoutMs: isWaiting ? remaining : Math.min(remaining, TRY_MS) };
    const call: Promise<SubmitResponse> = this.call<DescMethodUnary>(method, request, { ...options, ...limit });
    const response = await call.catch((error: unknown) => {
      if (error instanceof StampgateError) return error;
      // Such as that of a connection that the program has closed between two tries.
      throw open && last ? new OutcomeUnknown(last, request, open) : error;
    });
    if (response instanceof StampgateError) {
      // No later error closes it: upstream can refuse a repetition of what it has carried out.
      if (mayHaveActed(response)) open = { ...open, ...response.metadata };
      // The deadline can cut off a try before it learns what the earlier one has reported.
      if (!last || !isCutOff(response)) last = response;
      if (await backoff.wait(response)) continue;
      if (pending) throw new ActivityPending(pending);
      throw open ? new OutcomeUnknown(last, request, open) : last;
    }
    const { activity } = response;
    if (!activity) throw new TypeError(`the response of ${method.name} contains no activity`);
    if (activity.status === ActivityStatus.COMPLETED) return activity.result?.result ?? { case: undefined };
    if (activity.status === ActivityStatus.FAILED) throw new ActivityFailed(activity);
    if (activity.status === ActivityStatus.REJECTED) throw new ActivityRejected(activity);
    if (!isWaiting || !(await backoff.wait())) throw new ActivityPending(activity);
    pending = activity;
  }
}

/** The fields of a request whose repetition upstream recognizes. */
function repeatable(init: Submittable, key?: string, wait = false): Submittable {
  // A stamp covers the timestamp of its body.
  const needsKey = init.timestampMs === undefined && init.clientStamp === undefined;
  const idempotencyKey = key ?? init.idempotencyKey ?? (needsKey ? randomUUID() : undefined);
  return { ...init, idempotencyKey, waitUntil: wait ? WaitUntil.FINAL : init.waitUntil };
}
