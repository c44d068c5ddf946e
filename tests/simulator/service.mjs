// The simulated service: checks a request and, if it accepts the request, carries it out.
import { jsonAnswer, activity, fingerprintOf, refusalAnswer, withTimestamps } from './answers.mjs';
import { check, inOrder } from './check.mjs';
import { Enclave } from './enclave.mjs';
import { Refusal, invalidRequest, notFound, unauthenticated } from './errors.mjs';
import { checkJsonHeaders, onlyStamp } from './headers.mjs';
import { JsonError, decodeUtf8, parse } from './json.mjs';
import { OpenActivities, votedActivity } from './open_activities.mjs';
import { made } from './made.mjs';
import { operationAt } from './operations.mjs';
import { queries } from './queries.mjs';
import { JWKS_PATH } from './specification.mjs';
import { verifyStamp } from './stamps.mjs';
import { State } from './state.mjs';
import { submits } from './submits.mjs';

/** The submits that vote on an activity, and what each of them votes. */
const VOTES = { approve_activity: 'VOTE_SELECTION_APPROVED', reject_activity: 'VOTE_SELECTION_REJECTED' };

const STAMPED_PATH = /^\/public\/v1\/(?:submit|query)\/[a-z0-9_]+$/;

/**
 * @typedef {object} Judgement
 * @property {Refusal} [refusal] why the request is refused; absent if it is accepted
 * @property {object} [operation] absent for the key set and for unknown paths
 * @property {object} [request] the parsed body
 * @property {import('./stamps.mjs').Stamper} [stamper]
 * @property {Buffer} rawBody
 */

export class Service {
  #enclave;

  /**
   * @param {object} parts
   * @param {object} parts.fixture the initial state
   * @param {{publicKey: string, curve: string}[]} parts.publicKeys additional API keys of the fixture's first user
   * @param {string} parts.operator
   * @param {object} parts.settings
   * @param {() => number} parts.now the clock, in milliseconds
   * @param {() => import('./answers.mjs').Answer} parts.keySetAnswer
   * @param {(activity: object) => void} parts.activityChanged called with each activity in the response's form
   */
  constructor({ fixture, publicKeys, operator, settings, now, keySetAnswer, activityChanged }) {
    this.fixture = fixture;
    this.publicKeys = publicKeys;
    this.operator = operator;
    this.settings = settings;
    this.now = now;
    this.keySetAnswer = keySetAnswer;
    this.activityChanged = activityChanged;
    this.#enclave = new Enclave(fixture.tokenKey, operator);
    this.reset();
  }

  reset() {
    this.state = new State(this.fixture, this.publicKeys);
    /** The activities that have not ended. */
    this.open = new OpenActivities({
      nowMs: () => this.nowMs(),
      changed: (activity) => this.activityChanged(this.#shown(activity)),
    });
    for (const record of this.fixture.openActivities ?? []) this.#openFixture(record);
  }

  /** Adds an activity of the fixture, which a user has proposed before the test. */
  #openFixture({ activityId, fingerprint, organizationId, userId, publicKey, operation: name, parameters, approvals }) {
    const operation = operationAt(`/public/v1/submit/${name}`);
    const user = this.state.user(organizationId, userId);
    const stamper = { credential: { user }, publicKey, signature: '30', scheme: 'SIGNATURE_SCHEME_TK_API_P256' };
    const context = { ...{ state: this.state, enclave: this.#enclave, organizationId, user }, nowMs: this.nowMs() };
    const made = activity(
      {
        ...{ operation, request: { organizationId }, intent: parameters, failure: null, result: undefined },
        status: 'ACTIVITY_STATUS_CONSENSUS_NEEDED',
      },
      { rawBody: Buffer.from('{}'), stamper, enclave: this.#enclave, nowMs: context.nowMs },
    );
    Object.assign(made, { id: activityId, fingerprint });
    made.votes[0].activityId = activityId;
    this.state.keepActivity(made);
    const perform = () => this.#result(operation, { ...context, references: 'checked' }, parameters);
    this.open.add(made, { approvals, perform });
  }

  nowMs() {
    return BigInt(Math.trunc(this.now() + this.settings.clockOffsetMs));
  }

  /**
   * Checks headers, stamp, body and organization, in this order. Changes nothing.
   * @param {{method: string, path: string, headers: [string, string][], rawBody: Buffer}} given
   * @returns {Judgement}
   */
  judge({ method, path, headers, rawBody }) {
    const judgement = { rawBody };
    try {
      this.#judge({ method, path, headers, rawBody }, judgement);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      judgement.refusal = error;
    }
    return judgement;
  }

  #judge({ method, path, headers, rawBody }, judgement) {
    if (path === JWKS_PATH) return requireMethod(method, 'GET');
    if (!STAMPED_PATH.test(path)) throw notFound('', 'no such path');
    requireMethod(method, 'POST');
    checkJsonHeaders(headers);

    judgement.stamper = verifyStamp(onlyStamp(headers), rawBody, this.state);
    const { expiresAtMs } = judgement.stamper.credential;
    if (expiresAtMs !== undefined && expiresAtMs <= this.nowMs()) {
      throw unauthenticated('API_KEY_EXPIRED', 'the API key has expired');
    }

    judgement.request = readBody(rawBody);
    judgement.operation = operationAt(path, judgement.request);
    if (judgement.operation === undefined) return;
    const violations = check(judgement.operation.body, judgement.request, this.nowMs());
    if (violations.length > 0) throw invalidRequest(violations);
    // This check comes before the check of the organization, so that a repeated deletion of an organization returns the
    // activity of the first deletion.
    if (this.#earlierActivity(judgement) !== undefined) return;
    this.state.organizationFor(judgement.stamper.credential, judgement.request.organizationId);
  }

  #earlierActivity({ operation, rawBody }) {
    if (operation.type === undefined) return undefined;
    return this.state.activitiesByFingerprint.get(fingerprintOf(rawBody));
  }

  /**
   * Carries out an accepted request.
   * @param {Judgement} judgement
   * @param {object} [ending] how the activity ends, if a fault changes that
   * @param {string} [ending.status]
   * @param {'empty' | 'null' | 'absent'} [ending.result]
   * @param {object} [ending.failure]
   * @param {{approvals?: number}} [ending.open] if set, the activity ends later
   * @returns {import('./answers.mjs').Answer}
   */
  perform(path, judgement, ending) {
    try {
      if (path === JWKS_PATH) return this.keySetAnswer();
      if (judgement.operation === undefined) throw notFound('', 'no such operation');
      return jsonAnswer(200, judgement.operation.type ? this.#submit(judgement, ending) : this.#query(judgement));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return this.refuse(error);
    }
  }

  refuse(refusal) {
    return refusalAnswer(refusal, this.operator);
  }

  #submit(judgement, ending) {
    const earlier = this.#earlierActivity(judgement);
    const { operation, request, stamper, rawBody } = judgement;
    if (earlier !== undefined) return { activity: this.#shown(earlier, stamper.credential.user) };

    const intent = inOrder(operation.body, request).parameters;
    const context = this.#context(judgement);
    if (operation.name in VOTES) {
      const target = this.#vote(judgement, intent, VOTES[operation.name]);
      if (this.settings.voteAnswer === 'target') return { activity: target };
    }
    const perform = () => this.#result(operation, context, intent);
    const made = activity(
      {
        operation,
        request,
        intent,
        status: ending?.status ?? 'ACTIVITY_STATUS_COMPLETED',
        failure: ending?.failure ?? null,
        result: hasEndedWell(ending) ? perform() : { empty: {}, null: null, absent: undefined }[ending.result],
      },
      { rawBody, stamper, enclave: this.#enclave, nowMs: context.nowMs },
    );
    this.state.keepActivity(made);
    if (ending?.open !== undefined) this.open.add(made, { approvals: ending.open.approvals, perform });
    this.activityChanged(this.#shown(made));
    return { activity: this.#shown(made, context.user) };
  }

  /** Carries a submit out, and returns its activity's result. */
  #result(operation, context, intent) {
    const { name, resultKey, result } = operation;
    if (name in VOTES || resultKey === undefined) return {};
    const fields = this.#hasState(operation)
      ? submits[name](context, intent)
      : this.#made(result, `${name}.${resultKey}`);
    return { [resultKey]: fields };
  }

  /** Whether the state decides the result or answer. Otherwise the simulator makes it from the schema. */
  #hasState({ isSpecified }) {
    return isSpecified && this.settings.answers === 'state';
  }

  #made(kind, path) {
    const { answers, choice } = this.settings;
    return made(kind, path, { extent: answers === 'least' ? 'least' : 'full', choice });
  }

  /** Counts a vote. Returns the activity on which it votes; a repetition of the same body returns this activity too. */
  #vote({ request, stamper, rawBody }, { fingerprint }, selection) {
    const { user } = stamper.credential;
    const target = votedActivity(this.state, request.organizationId, fingerprint);
    this.open.vote(target, { user, selection, stamper, message: rawBody.toString('utf8') });
    if (this.settings.voteAnswer === 'target') this.state.keepVote(fingerprintOf(rawBody), target);
    return this.#shown(target, user);
  }

  /** The activity as a response to `user`, or an event, contains it. */
  #shown(activity, user) {
    const canApprove = user !== undefined && this.open.awaitsVoteOf(user, activity);
    return withTimestamps({ ...activity, canApprove }, this.settings.timestamps);
  }

  #query(judgement) {
    const { operation, request } = judgement;
    if (!this.#hasState(operation)) return this.#made(operation.answer, operation.name);
    const context = this.#context(judgement);
    const answer = queries[operation.name](context, inOrder(operation.body, request));
    const shown = (activity) => this.#shown(activity, context.user);
    if (answer.activity !== undefined) return { activity: shown(answer.activity) };
    return answer.activities === undefined ? answer : { activities: answer.activities.map(shown) };
  }

  #context({ request, stamper }) {
    return {
      state: this.state,
      enclave: this.#enclave,
      organizationId: request.organizationId,
      user: stamper.credential.user,
      nowMs: this.nowMs(),
      references: this.settings.references,
    };
  }
}

function hasEndedWell(ending) {
  return ending === undefined || ending.status === 'ACTIVITY_STATUS_COMPLETED';
}

function requireMethod(method, expected) {
  if (method !== expected) throw new Refusal('UNIMPLEMENTED', '', `only ${expected} is served here`, { http: 405 });
}

function readBody(rawBody) {
  try {
    const { value, duplicates } = parse(decodeUtf8(rawBody));
    if (duplicates.length === 0) return value;
    throw invalidRequest(duplicates.map((field) => ({ field, description: 'occurs more than once' })));
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new Refusal('INVALID_ARGUMENT', 'REQUEST_INVALID', `the body is not JSON: ${error.message}`);
  }
}
