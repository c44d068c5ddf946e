// Compares the operations of the specification with the same operations in the schema.
import { operationInSchema } from '../operations.mjs';
import { operations as specified } from '../specification.mjs';

/** How a kind reads in a table. */
const WORDS = {
  string: ({ form, maxCharacters: max }) =>
    form ?? (max === undefined ? 'a text' : `a text of at most ${max} characters`),
  boolean: () => 'true or false',
  ordinal: () => 'a number from 0 to 4294967295',
  integer: ({ min, max }) => `a number from ${min} to ${max}`,
  decimal: ({ min = 0n, max, orWord }) =>
    [
      'a number, as a string',
      min > 0n ? `from ${min}` : undefined,
      max === undefined ? undefined : `to ${max}`,
      orWord === undefined ? undefined : `or ${orWord}`,
    ]
      .filter(Boolean)
      .join(', '),
  recentTime: () => 'a recent time',
  enum: () => 'one of a list of values',
  list: ({ of }) => `a list: ${WORDS[of.kind](of)}`,
  object: () => 'an object',
};

const presenceOf = ({ required, mayBeEmpty, kind, minElements }) => {
  if (!required) return 'optional';
  const canBeEmpty = kind === 'string' ? mayBeEmpty : kind === 'list' && !minElements;
  return canBeEmpty ? 'required, may be empty' : 'required';
};

const describe = (kind) => (kind === undefined ? 'none' : `${presenceOf(kind)}; ${WORDS[kind.kind](kind)}`);

/**
 * Each difference: the operation and the member, and what the specification and the schema have there.
 * @returns {[string, string, string][]}
 */
export function differences() {
  /** @type {[string, string, string][]} */
  const found = [];
  for (const [path, operation] of specified) {
    const other = operationInSchema(path, operation.type);
    if (other === undefined) {
      found.push([operation.name, 'an operation', 'none']);
      continue;
    }
    for (const name of ['type', 'intentKey', 'resultKey']) {
      const [key, otherKey] = [operation, other].map((each) => each[name] ?? 'none');
      if (key !== otherKey) found.push([`${operation.name} ${name}`, key, otherKey]);
    }
    compare(operation.name, operation.body, other.body, found);
  }
  return found;
}

function compare(place, one, other, found) {
  const [said, saidToo] = [describe(one), describe(other)];
  if (said !== saidToo) found.push([place, said, saidToo]);
  if (one === undefined || one.kind !== other?.kind) return;
  if (one.kind === 'list') compare(`${place}[]`, one.of, other.of, found);
  if (one.kind === 'enum') compareValues(place, one.values, other.values, found);
  if (one.kind !== 'object') return;
  for (const name of new Set([...Object.keys(one.members), ...Object.keys(other.members)])) {
    compare(`${place}.${name}`, one.members[name], other.members[name], found);
  }
  const [group, otherGroup] = [one, other].map(({ atMostOneOf = [] }) => atMostOneOf.join(', '));
  if (group !== otherGroup) found.push([`${place}, one of`, group || 'none', otherGroup || 'none']);
}

function compareValues(place, values, others, found) {
  const without = (list, removed) => list.filter((value) => !removed.includes(value)).join(', ');
  const [only, onlyOther] = [without(values, others), without(others, values)];
  if (only !== '' || onlyOther !== '') found.push([`${place}, values`, only || 'none more', onlyOther || 'none more']);
}
