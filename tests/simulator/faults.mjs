// The faults of the service's responses.
import { codes } from './errors.mjs';
import { badRequest, errorDetail, jsonAnswer, rawAnswer } from './answers.mjs';
import { FaultError, FaultList, part } from './fault_list.mjs';
import { Raw, parse, stringify } from './json.mjs';
import { JWKS_PATH } from './specification.mjs';

/** Each kind's options with their defaults; `undefined` means no default. */
const OPTIONS = {
  status: { status: 500, body: '', bodyBase64: undefined, headers: {}, apply: false },
  error: {
    code: 'INTERNAL',
    http: undefined,
    message: 'the service refuses',
    errorCode: undefined,
    errorCodeIn: 'detail',
    fieldViolations: 0,
    policyDenied: false,
    details: 'list',
    echo: true,
    headers: {},
    apply: false,
  },
  activityStatus: { status: undefined, result: 'empty', failure: undefined },
  pending: { approvals: undefined },
  slow: { ms: undefined, untilReleased: false, part: 'all' },
  truncated: { bytes: undefined, chunked: false },
  oversized: { bytes: undefined, chunked: false, apply: false },
  nonJson: { status: 200, apply: false },
  redirect: { status: 307, location: '/_simulator/elsewhere', apply: false },
  readAndClose: { apply: true },
  resetBeforeRead: {},
  resetConnection: {},
  mutate: { set: {}, remove: [], body: undefined, bodyBase64: undefined, status: undefined, headers: {} },
  together: { faults: [] },
};

const CHOICES = {
  errorCodeIn: ['detail', 'topLevel', 'both'],
  details: ['list', 'empty', 'null', 'absent'],
  result: ['empty', 'null', 'absent'],
  part: ['all', 'body'],
};

const NEEDED = { activityStatus: ['status'], oversized: ['bytes'] };

export class Faults extends FaultList {
  constructor() {
    super({ options: OPTIONS, choices: CHOICES, needed: NEEDED, match: ['path'], check });
  }

  /**
   * Finds the fault for this request, counts its use, and returns its parts. Each kind of fault applies at one place:
   * to a new connection, to a request as soon as its request head has arrived, or to an accepted request.
   * @param {'connection' | 'head' | 'accepted'} place
   * @param {{path?: string, isSubmit?: boolean}} request
   */
  take(place, request = {}) {
    return this.takeFirst((parts, { path }) => placeOf(parts) === place && fits(path, parts, request));
  }
}

function check({ kind, ...given }) {
  if (kind === 'slow' && (given.ms === undefined) === (given.untilReleased !== true)) {
    throw new FaultError('slow needs either ms or untilReleased');
  }
  if (kind === 'error' && codes[given.code ?? 'INTERNAL'] === undefined) {
    throw new FaultError(`error.code must be one of ${Object.keys(codes).join(', ')}`);
  }
}

function placeOf(parts) {
  if (parts.some(({ kind }) => kind === 'resetConnection')) return 'connection';
  return parts.some(({ kind }) => kind === 'resetBeforeRead') ? 'head' : 'accepted';
}

function fits(path, parts, request) {
  if (parts.some(({ kind }) => kind === 'activityStatus' || kind === 'pending') && !request.isSubmit) return false;
  // A fault without a path does not apply to the key set: the gateway fetches the key set also without a call, and
  // could thereby use up a fault that is meant for a call.
  if (path === undefined) return request.path !== JWKS_PATH;
  return request.path === path || request.path?.split('/').at(-1) === path;
}

/**
 * The response to an accepted request, with its fault applied.
 * @param {object[]} parts
 * @param {import('./service.mjs').Judgement} judgement
 * @param {(ending?: object) => import('./answers.mjs').Answer} perform
 */
export function faultyAnswer(parts, judgement, perform, operator) {
  const replacing = parts.find(({ kind }) => kind in REPLACEMENTS);
  const shouldPerform = parts.every(({ apply }) => apply !== false);
  const performed = shouldPerform ? perform(endingOf(parts, judgement)) : undefined;
  let answer = replacing ? REPLACEMENTS[replacing.kind](replacing, judgement, operator) : performed;
  for (const mutation of parts.filter(({ kind }) => kind === 'mutate')) answer = mutated(answer, mutation);
  return answer;
}

const REPLACEMENTS = {
  status: ({ status, body, bodyBase64, headers }) =>
    rawAnswer(status, bytesOf(body, bodyBase64), { 'Content-Type': 'application/json', ...headers }),
  error: errorAnswer,
  nonJson: ({ status }) =>
    rawAnswer(status, '<!DOCTYPE html><html><body><h1>Sorry</h1></body></html>\n', { 'Content-Type': 'text/html' }),
  redirect: ({ status, location }) => rawAnswer(status, '', { Location: location }),
  // The body is generated while it is sent.
  oversized: () => rawAnswer(200, '', { 'Content-Type': 'application/json' }),
};

function bytesOf(text, base64) {
  return base64 === undefined ? Buffer.from(text) : Buffer.from(base64, 'base64');
}

function endingOf(parts, judgement) {
  const pending = part(parts, 'pending');
  if (pending !== undefined) {
    const status = `ACTIVITY_STATUS_${pending.approvals === undefined ? 'PENDING' : 'CONSENSUS_NEEDED'}`;
    return { status, result: 'absent', open: { approvals: pending.approvals } };
  }
  const fault = part(parts, 'activityStatus');
  if (fault === undefined) return undefined;
  const { status, result, failure } = fault;
  if (failure !== undefined || status !== 'ACTIVITY_STATUS_FAILED') return { status, result, failure };
  const echoed = echoOf(judgement);
  return {
    status,
    result,
    failure: {
      code: codes.INVALID_ARGUMENT.number,
      message: `the activity failed: ${echoed.text}`,
      details: [{ '@type': 'type.googleapis.com/errors.v1.ActivityFailure', parameters: echoed.parameters }],
    },
  };
}

/** All values of the parameters that the client sent, as one text. */
function echoOf({ request }) {
  const parameters = request?.parameters ?? request ?? {};
  const leaves = [];
  const visit = (value, path) => {
    if (value !== null && typeof value === 'object' && !(value instanceof Raw)) {
      Object.entries(value).forEach(([name, inner]) => visit(inner, path === '' ? name : `${path}.${name}`));
    } else {
      leaves.push(`${path}=${value instanceof Raw ? value.text : value}`);
    }
  };
  visit(parameters, '');
  return { parameters, text: leaves.join(', ') };
}

function errorAnswer(fault, judgement, operator) {
  const { code, echo, errorCode, errorCodeIn, details: form, fieldViolations, policyDenied } = fault;
  const echoed = echo ? echoOf(judgement) : undefined;
  const say = (text) => (echoed ? `${text}: ${echoed.text}` : text);
  const details = [];
  if (fieldViolations > 0) {
    const violation = (_, index) => ({ field: `field${index}`, description: say('is refused') });
    details.push(badRequest(Array.from({ length: fieldViolations }, violation)));
  }
  if (policyDenied) {
    details.push({
      '@type': 'type.googleapis.com/errors.v1.PolicyEnginePermissionError',
      message: say('No policies evaluated to outcome: Allow'),
      policyEvaluations: [{ policyId: 'policy', outcome: 'OUTCOME_DENY', parameters: echoed?.parameters }],
    });
  }
  if (errorCode !== undefined && errorCodeIn !== 'topLevel') {
    details.push({ ...errorDetail(errorCode, operator), parameters: echoed?.parameters });
  } else if (echoed && !policyDenied && fieldViolations === 0) {
    details.push({ '@type': 'type.googleapis.com/errors.v1.Parameters', parameters: echoed.parameters });
  }
  const body = {
    code: codes[code].number,
    message: say(fault.message),
    details: { list: details, empty: [], null: null, absent: undefined }[form],
  };
  if (errorCode !== undefined && errorCodeIn !== 'detail') body[`${operator}ErrorCode`] = errorCode;
  return jsonAnswer(fault.http ?? codes[code].http, body, fault.headers);
}

/** The response with parts of its JSON replaced by exactly the given texts. */
function mutated(answer, { set, remove, body, bodyBase64, status, headers }) {
  const changed = { ...answer, status: status ?? answer.status, headers: { ...answer.headers, ...headers } };
  if (body !== undefined || bodyBase64 !== undefined) return { ...changed, body: bytesOf(body, bodyBase64) };
  const document = { root: parse(answer.body.toString('utf8')).value };
  for (const [pointer, text] of Object.entries(set)) {
    const { holder, name } = placeAt(document, pointer);
    if (Array.isArray(holder) && name === '-') holder.push(new Raw(text));
    else holder[name] = new Raw(text);
  }
  for (const pointer of remove) {
    const { holder, name } = placeAt(document, pointer);
    if (Array.isArray(holder)) holder.splice(Number(name), 1);
    else delete holder[name];
  }
  return { ...changed, body: Buffer.from(stringify(document.root)) };
}

/** The object or list that contains the value at a JSON Pointer (RFC 6901), and the value's name in it. */
function placeAt(document, pointer) {
  if (pointer === '') return { holder: document, name: 'root' };
  const names = pointer.split('/').slice(1);
  const last = names.pop();
  const unescape = (name) => name.replaceAll('~1', '/').replaceAll('~0', '~');
  let holder = document.root;
  for (const name of names) {
    holder = holder?.[unescape(name)];
    if (holder === null || typeof holder !== 'object') throw new FaultError(`the response has no value at ${pointer}`);
  }
  return { holder, name: unescape(last) };
}
