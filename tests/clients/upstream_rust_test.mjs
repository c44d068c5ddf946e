// Reads the answers to all operations with upstream's own client library for Rust. The library must see what the
// gateway returns, except where its types differ from the answers.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { HANG_MS } from '../end_to_end/harness.mjs';
import { rustProgram } from '../paths.mjs';
import { countValues, startForEveryOperation, withoutEmpty } from './every_operation.mjs';
import { pathOf, responseJson } from './typed_messages.mjs';

/**
 * What the library does not read, by operation: the names of members that its value lacks, or the beginning of its
 * error. The test fails if the library reads less than this, or more.
 */
const UNREAD = {
  // The library reads the members of these oneofs from an object, which the answers do not have.
  get_send_transaction_status: ['custom', 'eth', 'native', 'solana', 'unknown'],
  get_swap_status: ['custom', 'native', 'unknown'],
  create_velocity_control: ['dataSource', 'window'],
  get_velocity_control: ['dataSource', 'window'],
  list_velocity_controls: ['dataSource', 'window'],
  spark_prepare_transfer: ['newLeafDerivation', 'oldLeafDerivation'],
  spark_sign_frost: ['derivation'],
  // The library omits the details of a failure.
  get_activity: ['details'],
  list_activities: ['details'],
  // The library writes this type without its last underscore.
  eth_undelegate_7702: ['unknown variant `ACTIVITY_TYPE_ETH_UNDELEGATE_7702`'],
  // The library has the bytes of the manifest as a list of numbers, and JSON of protocol buffers has them in Base64. It
  // reads the whole intent as an empty one.
  create_tvc_deployment: ['intent'],
  // The library's version of these messages has other members and values. It reads an intent that does not have them as
  // an empty one.
  delete_velocity_control: ['unknown variant `ACTIVITY_TYPE_DELETE_VELOCITY_CONTROL`'],
  init_fiat_on_ramp: ['intent'],
};

test('the library reads what the gateway returns', { timeout: 3 * HANG_MS }, async (t) => {
  if (!existsSync(rustProgram)) return t.skip('deploy/install found no Rust that is new enough');
  const answers = [];
  // The library knows only the newest names of the members that upstream has renamed.
  const { answers: answersOf } = await startForEveryOperation(t, { member_names_as_of: '2026-10-21' });
  for await (const answer of answersOf()) answers.push(answer);

  const read = await readInRust(answers);
  const unread = {};
  let count = 0;
  for (const [index, { path, response }] of answers.entries()) {
    const returned = withoutEmpty(responseJson(path, response, 'turnkey', { newestNames: true }));
    const { Ok: value, Err: error } = read[index];
    const missing =
      value === undefined ? [error.split(/,| at line/)[0]] : missingIn(withoutEmpty(value), returned, path);
    if (missing.length === 0) count += countValues(returned);
    for (const name of missing) (unread[pathOf(path).split('/').at(-1)] ??= new Set()).add(name);
  }
  const sorted = Object.entries(unread).map(([operation, names]) => [operation, [...names].sort()]);
  assert.deepEqual(Object.fromEntries(sorted), UNREAD);
  assert.ok(count > 50_000, `${count} values`);
});

/** Returns what the program in tests/clients/rust reads from each answer: {Ok: value} or {Err: reason}. */
async function readInRust(answers) {
  const program = spawn(rustProgram, { stdio: ['pipe', 'pipe', 'inherit'] });
  program.stdin.end(answers.map(({ path, json }) => `${pathOf(path)} ${JSON.stringify(json)}\n`).join(''));
  const lines = (await text(program.stdout)).trimEnd().split('\n');
  assert.equal(lines.length, answers.length);
  return lines.map((line) => JSON.parse(line));
}

/** The names of the members in `expected` that `value` does not have. Fails if the values differ otherwise. */
function missingIn(value, expected, place) {
  if (typeof expected !== 'object') {
    assert.equal(value, expected, place);
    return [];
  }
  assert.equal(typeof value, 'object', place);
  assert.deepEqual(
    Object.keys(value).filter((name) => !(name in expected)),
    [],
    place,
  );
  return Object.entries(expected).flatMap(([name, inner]) =>
    name in value ? missingIn(value[name], inner, `${place}.${name}`) : [name],
  );
}
