// The errors of calls, with the details that the gateway sends, and the outcomes of submits that are not results.
import { fromBinary } from '@bufbuild/protobuf';
import type { Message } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from './gen/google/rpc/error_details_pb.js';
import { StatusSchema } from './gen/google/rpc/status_pb.js';
import { ActivityStatus } from './gen/stampgate/v1/activity_pb.js';
import type { Activity } from './gen/stampgate/v1/activity_pb.js';
import type { ErrorReason } from './gen/stampgate/v1/error_reason_pb.js';

/** The names of the gateway's own reasons, such as 'OUTCOME_UNKNOWN'. */
export type Reason = Exclude<keyof typeof ErrorReason, 'UNSPECIFIED'>;

/** One field of a request that breaks a rule. */
export interface Violation {
  field: string;
  description: string;
}

/** The error of a call. */
export class StampgateError extends Error {
  override name = 'StampgateError';
  /** The canonical code. */
  readonly code: status;
  /** 'stampgate' or 'upstream': which of the two made the error. Empty if the gateway did not make the error. */
  readonly domain: string;
  /** With the domain 'stampgate' a `Reason`; with the domain 'upstream' upstream's own code. Otherwise empty. */
  readonly reason: Reason | (string & {});
  readonly metadata: Readonly<Record<string, string>>;
  /** The fields of the request that break rules. */
  readonly violations: readonly Violation[];
  /** After this time a repetition can succeed. Undefined if the gateway does not recommend a repetition. */
  readonly retryDelayMs: number | undefined;
  /** By this id the operator finds the call in the logs. */
  readonly requestId: string | undefined;

  /** `cause` is an error of @grpc/grpc-js. */
  constructor(cause: ServiceError, message = cause.details || cause.message) {
    super(message, { cause });
    this.code = cause.code;
    const [requestId] = cause.metadata?.get('x-request-id') ?? [];
    this.requestId = requestId?.toString();
    const [bytes] = cause.metadata?.get('grpc-status-details-bin') ?? [];
    const details = bytes instanceof Buffer ? fromBinary(StatusSchema, bytes).details : [];
    const detail = <T>(unpack: (any: (typeof details)[number]) => T | undefined) =>
      details.map(unpack).find((found) => found !== undefined);
    const info = detail((any) => anyUnpack(any, ErrorInfoSchema));
    this.domain = info?.domain ?? '';
    this.reason = info?.reason ?? '';
    this.metadata = info?.metadata ?? {};
    const violations = detail((any) => anyUnpack(any, BadRequestSchema))?.fieldViolations ?? [];
    this.violations = violations.map(({ field, description }) => ({ field, description }));
    const delay = detail((any) => anyUnpack(any, RetryInfoSchema))?.retryDelay;
    this.retryDelayMs = delay && Number(delay.seconds) * 1000 + delay.nanos / 1e6;
  }

  /** The name of `code`, such as 'UNAVAILABLE'. */
  get codeName(): string {
    return status[this.code];
  }
}

/**
 * A submit ended, and upstream may or may not have carried it out. To learn the outcome, submit `request` again: it
 * contains the key or the timestamp, so that upstream acts at most once. Do so within 55 minutes.
 */
export class OutcomeUnknown<Request extends Message = Message> extends StampgateError {
  override name = 'OutcomeUnknown';
  readonly key: string | undefined;
  /** The timestamp of the request that the gateway sent. Undefined if the gateway returned none. */
  readonly timestampMs: bigint | undefined;
  /** Identifies the activity, if there is one. Undefined if the gateway returned none. */
  readonly fingerprint: string | undefined;

  /**
   * @param cause the error of the last try
   * @param request the request to repeat
   * @param known the metadata of the error of a try that upstream may have carried out
   */
  constructor(
    cause: ServiceError,
    readonly request: Request & { idempotencyKey?: string; timestampMs?: bigint },
    known: Readonly<Record<string, string>>,
  ) {
    super(cause);
    this.key = request.idempotencyKey;
    const { timestamp_ms: timestamp, fingerprint } = known;
    this.timestampMs = timestamp === undefined ? request.timestampMs : BigInt(timestamp);
    this.fingerprint = fingerprint;
  }
}

/** The activity of a submit is not completed. */
export class ActivityError extends Error {
  override name = 'ActivityError';

  constructor(readonly activity: Activity) {
    super(`activity ${activity.id}: ${activity.failure?.message || statusName(activity)}`);
  }
}

/** The activity has not ended: upstream carries it out, or it needs votes or authenticators. */
export class ActivityPending extends ActivityError {
  override name = 'ActivityPending';

  /** Whether the activity waits for votes. */
  get needsConsensus(): boolean {
    return this.activity.status === ActivityStatus.CONSENSUS_NEEDED;
  }
}

/** Users rejected the activity by their votes. */
export class ActivityRejected extends ActivityError {
  override name = 'ActivityRejected';
}

/** The activity failed; `activity.failure` contains the cause. */
export class ActivityFailed extends ActivityError {
  override name = 'ActivityFailed';
}

/** The name of an activity's status, or its number if this package does not know the status. */
const statusName = ({ status }: Activity): string => ActivityStatus[status] ?? String(status);
