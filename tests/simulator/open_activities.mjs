// The activities that have not ended: they wait for votes, or until a test ends them.
import { randomUUID } from 'node:crypto';
import { FaultError } from './fault_list.mjs';
import { Refusal, codes, invalidRequest, notFound } from './errors.mjs';
import * as records from './records.mjs';
import { timeOf } from './state.mjs';

const CONSENSUS_NEEDED = 'ACTIVITY_STATUS_CONSENSUS_NEEDED';

/** Votes are accepted for this time after the activity was created. The activity then keeps its status. */
const VOTING_MS = 24n * 3_600_000n;

const ENDS = ['ACTIVITY_STATUS_COMPLETED', 'ACTIVITY_STATUS_FAILED', 'ACTIVITY_STATUS_REJECTED'];

export class OpenActivities {
  #open = new Map();

  /**
   * @param {object} parts
   * @param {() => bigint} parts.nowMs
   * @param {(activity: object) => void} parts.changed called after each change of an activity
   */
  constructor({ nowMs, changed }) {
    this.nowMs = nowMs;
    this.changed = changed;
  }

  /**
   * Adds an activity that has not ended.
   * @param {object} activity the stored activity, which this object changes
   * @param {object} how
   * @param {number} [how.approvals] the number of users who must approve, with the proposer; undefined: no votes
   * @param {() => object} how.perform carries the activity out, and returns its result
   */
  add(activity, { approvals, perform }) {
    this.#open.set(activity.id, { activity, approvals, perform, createdMs: this.nowMs() });
  }

  /** Whether the user may still approve or reject the activity. */
  awaitsVoteOf(user, activity) {
    return activity.status === CONSENSUS_NEEDED && !activity.votes.some(({ userId }) => userId === user?.userId);
  }

  /**
   * Counts the vote of a user. Enough approvals carry the activity out; one rejection ends it.
   * @param {object} activity the stored activity
   * @param {object} vote
   * @param {object} vote.user
   * @param {'VOTE_SELECTION_APPROVED' | 'VOTE_SELECTION_REJECTED'} vote.selection
   * @param {{publicKey: string, signature: string, scheme: string}} vote.stamper
   * @param {string} vote.message the body that the voter has stamped
   * @throws {Refusal}
   */
  vote(activity, { user, selection, stamper, message }) {
    const open = this.#open.get(activity.id);
    if (activity.status !== CONSENSUS_NEEDED || open?.approvals === undefined) {
      throw invalidRequest([{ field: 'parameters.fingerprint', description: 'names an activity that needs no votes' }]);
    }
    if (this.nowMs() - open.createdMs >= VOTING_MS) {
      throw new Refusal('FAILED_PRECONDITION', 'REQUEST_INVALID', 'the time for votes on this activity is over');
    }
    if (activity.votes.some(({ userId, selection: earlier }) => userId === user.userId && earlier === selection))
      return;
    const { publicKey, signature, scheme } = stamper;
    const time = timeOf(this.nowMs());
    activity.votes = activity.votes.filter(({ userId }) => userId !== user.userId);
    activity.votes.push({
      ...{ id: randomUUID(), userId: user.userId, user: records.user(user), activityId: activity.id, selection },
      ...{ message, publicKey, signature, scheme, createdAt: time },
    });
    if (selection === 'VOTE_SELECTION_REJECTED') return this.#end(open, 'ACTIVITY_STATUS_REJECTED');
    if (activity.votes.length >= open.approvals) return this.#end(open, 'ACTIVITY_STATUS_COMPLETED');
    activity.updatedAt = time;
    this.changed(activity);
  }

  /**
   * Ends an activity, as the service does when it has carried the activity out.
   * @param {string} activityId
   * @param {{status?: string, event?: boolean}} [how] without `event`, no webhook reports the end
   */
  end(activityId, { status = ENDS[0], event = true } = {}) {
    const open = this.#open.get(activityId);
    if (open === undefined) throw new FaultError(`there is no open activity ${activityId}`);
    if (!ENDS.includes(status)) throw new FaultError(`status must be one of ${ENDS.join(', ')}`);
    this.#end(open, status, event);
    return open.activity;
  }

  /** The ids of the activities that have not ended. */
  ids() {
    return [...this.#open.keys()];
  }

  #end({ activity, perform }, status, event = true) {
    this.#open.delete(activity.id);
    const ending = status === 'ACTIVITY_STATUS_COMPLETED' ? outcomeOf(perform) : { status };
    if (ending.status === 'ACTIVITY_STATUS_FAILED') {
      ending.failure ??= { code: codes.INTERNAL.number, message: 'the activity failed', details: [] };
    }
    Object.assign(activity, ending, { updatedAt: timeOf(this.nowMs()) });
    if (event) this.changed(activity);
  }
}

function outcomeOf(perform) {
  try {
    return { status: 'ACTIVITY_STATUS_COMPLETED', result: perform() };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { code, message } = error;
    return { status: 'ACTIVITY_STATUS_FAILED', failure: { code: codes[code].number, message, details: [] } };
  }
}

/** Finds the activity that a vote names. */
export function votedActivity(state, organizationId, fingerprint) {
  const activity = state.activitiesByFingerprint.get(fingerprint);
  if (activity?.organizationId !== organizationId) throw notFound('REQUEST_INVALID', 'no such activity');
  return activity;
}
