// The ends of submits that are not results.
import type { Message } from '@bufbuild/protobuf';
import type { StampgateError } from './errors.js';
import { ActivityStatus, ActivityStatusSchema, type Activity } from './v1.js';

/**
 * A submit ended, and upstream may or may not have carried it out. It is no StampgateError, because a program that
 * handles a StampgateError may conclude that nothing was done. To learn the outcome, submit `request` again: it contains
 * the key, the timestamp or the stamp, so that upstream acts at most once. With a key, do so while the gateway keeps it,
 * by default for 24 hours, and otherwise within an hour.
 */
export class OutcomeUnknown<Request extends Message = Message> extends Error {
  override name = 'OutcomeUnknown';
  readonly key: string | undefined;
  /** The timestamp of the request that the gateway sent. Undefined if the gateway returned none. */
  readonly timestampMs: bigint | undefined;
  /** Identifies the activity, if there is one. Undefined if the gateway returned none. */
  readonly fingerprint: string | undefined;

  /**
   * @param last the error of the last try, which does not state the outcome: an earlier try may have acted
   * @param request the request to repeat
   * @param known the metadata of the errors of all tries that upstream may have carried out
   */
  constructor(
    readonly last: StampgateError,
    readonly request: Request & { idempotencyKey?: string; timestampMs?: bigint },
    known: Readonly<Record<string, string>>,
  ) {
    super(`upstream may have acted: ${last.message}`);
    this.key = request.idempotencyKey;
    this.timestampMs = known['timestamp_ms'] ? BigInt(known['timestamp_ms']) : request.timestampMs;
    this.fingerprint = known['fingerprint'];
  }
}

/** The activity of a submit is not completed. It is no StampgateError. */
export class ActivityError extends Error {
  override name = 'ActivityError';

  constructor(readonly activity: Activity) {
    const { id, failure, status } = activity;
    super(`activity ${id}: ${failure?.message || (ActivityStatusSchema.value[status]?.name ?? status)}`);
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
