// The comments that are the same for all elements of a kind, made by rule.
import { bare } from './names.mjs';
import { activityTypeOf, kindOf } from './operations.mjs';

const wait =
  'Optional. If it is WAIT_UNTIL_FINAL, the call waits until the activity has ended; the comment of WaitUntil ' +
  'has the rules. If it is unset, the call returns as soon as upstream has responded. Neither the stamp nor the ' +
  'idempotency key covers this field. Must not be set together with client_stamp.';
const key =
  'Optional. A name that the caller chooses for this submit, so that the caller can repeat the submit safely: ' +
  '1 to 128 visible ASCII characters, such as a UUID. Set the key before the first try. After any error, even ' +
  'UNAVAILABLE or an error without ErrorInfo, the caller can repeat the same request with the same key: upstream acts ' +
  "at most once. While the request's timestamp is less than 55 minutes old, the gateway sends the same bytes again. " +
  'After that, the gateway sends nothing upstream. It returns the stored outcome or, if no outcome is stored, the ' +
  'error OUTCOME_NOT_STORED. The stamp does not cover this key. Must not be set together with client_stamp.';
const time =
  'Optional. Time of the request in milliseconds since 1970-01-01 UTC. If it is unset, the gateway chooses a ' +
  'time. To repeat an earlier call, set this field to the time of that call and all other fields to the same values as ' +
  'in that call: upstream then acts at most once.';
const stamp =
  "Optional. An end user's stamp and the body that the stamp covers. If it is set, all other fields must be " +
  'unset, and the rules of those fields apply to the body. If it is unset, the gateway stamps the request with its own ' +
  'key.';
const appProofs = 'Optional. Whether the activity also contains App Proofs.';
/** Comments of the fields of a submit that an end user must stamp. */
const stampedByClient = (method) => ({
  message:
    ` A call of ${method} must set \`client_stamp\` and no other field. The other fields are set in the request ` +
    'message that StampService.Prepare receives.',
  time:
    'Optional. Time of the request in milliseconds since 1970-01-01 UTC. If it is unset, StampService.Prepare ' +
    'chooses a time.',
  wait: 'Must be unset: it must not be set together with client_stamp, which this method requires.',
  key:
    `Must be unset: ${method} requires a client_stamp, and a request with a client_stamp cannot have an ` +
    'idempotency_key.',
  stamp:
    `Required in a call of ${method}; must be unset in a request message for StampService.Prepare. The end user's ` +
    'stamp and the body that the stamp covers. The rules of all other fields apply to the body.',
});
const unrecognized =
  "Values of upstream's response that the fields above cannot hold exactly. Each key is the JSON " +
  'Pointer (RFC 6901) of a value in the response; the entry holds the JSON text of that value.';
const activity = (outcome) =>
  `The activity. Its status states whether ${outcome}. The call also returns OK if the ` +
  'activity is pending, rejected or failed. The comment of Activity explains how a pending activity ends.';

/**
 * Comments of the request of a submit.
 * @param {import('./operations.mjs').Method} method
 */
export const submitComments = ({ name, entry }) => ({
  message: '',
  time,
  wait,
  key,
  stamp,
  ...(entry.stamped_by_client && stampedByClient(name)),
  organization: entry.organization ?? 'The organization in which the operation acts.',
  parameters: entry.request ?? 'The parameters of the operation.',
  appProofs: !entry.app_proofs
    ? appProofs
    : `${appProofs} Public descriptions of this operation do not list this member, so upstream may ignore it.`,
});

/** Comments of fields that the generator adds to responses and to the requests of queries. */
export const fieldComments = { stamp, unrecognized, activity };

/** The end of the comment of an optional list in a request. */
export const emptyList = ' An empty list is not sent: upstream does not distinguish it from an absent one.';

/** Entries of members that every query has. The gateway decides by the organization whether a caller may read. */
export const queryFields = { organizationId: { text: 'The organization to read from.', required: true } };

const gone = (/** @type {string[] | undefined} */ labels, what) =>
  labels ? ` Upstream no longer publishes this ${what}, since ${labels.join(' and ')}.` : '';

const commonErrors = {
  submit: 'the common errors of a submit (error_reason.proto).',
  query: 'the common errors of a query (error_reason.proto).',
  discovery:
    'the common errors of a query (error_reason.proto), except those about a signing key or an organization, ' +
    'because this request is not signed and names no organization.',
};

/** The comment of a method. */
export function methodComment({ entry, version, name }) {
  const text = entry.text ?? `Carries out the operation ${name}.`;
  return (
    `${text}${gone(version.gone, 'operation')}\n\n` +
    `Errors: ${commonErrors[kindOf(version)]}${entry.errors ? ` ${entry.errors}` : ''}`
  );
}

/** The comment of the message of an intent or result that no method of the API uses. */
export function activityPartComment(definition) {
  const part = /Intent(V\d+)?$/.test(definition) ? 'Intent' : 'Result';
  return `${part} of activities of the type ${activityTypeOf(definition)}.`;
}

/** The words of a definition's name, for a definition that the table of types does not have. */
export const words = (definition) =>
  bare(definition)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase();

/**
 * Puts "Required." or "Optional." before the text of a request's field. `otherName` is another field of the same required
 * member, if there is one.
 */
export function requestComment(text, required, otherName = '') {
  if (/^(Required|Optional)\./.test(text)) return text;
  if (otherName) return `Required, unless ${otherName} is set. ${text}`;
  return `${required ? 'Required' : 'Optional'}. ${text}`;
}

export { gone };
