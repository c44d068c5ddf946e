// The client packages behave alike, and the judge that states this finds faults of drivers.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { scratch } from '../end_to_end/harness.mjs';
import { cases } from './cases/index.mjs';
import { noEnvoy } from './envoy.mjs';
import { judge } from './judge.mjs';
import { built, languageNames, reference } from './languages.mjs';

/** Far more time than all cases need. */
const LIMIT_MS = 600_000;

describe('every case passes', { timeout: LIMIT_MS }, () => {
  /** @type {Map<string, any>} */
  const languages = new Map();
  /** @type {Map<string, string[]>} */
  const faults = new Map(languageNames.map((name) => [name, []]));

  before(async () => {
    const folder = scratch({ after });
    for (const name of languageNames) languages.set(name, await built(name, folder));
    const running = [...languages.values()].filter(({ program }) => program);
    await judge(running, cases, ({ name: title }, { name }, fault) => {
      if (fault !== undefined) faults.get(name).push(`${title}\n    ${fault}`);
    });
  });

  for (const name of languageNames) {
    test(`with the package for ${name}`, (t) => {
      const { skipped } = languages.get(name);
      if (skipped) return t.skip(skipped);
      return assert.deepEqual(faults.get(name), []);
    });
  }
});

test('some cases are through Envoy', { skip: noEnvoy }, () => {
  assert.ok(cases.some(({ stack }) => stack === 'envoy'));
});

test('the names of the cases differ', () => {
  assert.equal(new Set(cases.map(({ name }) => name)).size, cases.length);
});

describe('the judge finds a driver that', { timeout: LIMIT_MS }, () => {
  /** The case that each liar fails. */
  const found = {
    'forgets the key of the caller': 'two submits with the same key of the caller are one activity',
    'does not wait': 'a submit that waits returns the end of its activity (ACTIVITY_STATUS_COMPLETED)',
    'ignores the cursor': 'a subscription resumes after the event of a cursor',
    'submits twice': 'a submit returns the result of its activity',
    'hides violations': 'an invalid request is an error with every violation',
    'hides the delay of RetryInfo': 'a rate limit is an error with the delay of its RetryInfo',
    'rounds large numbers': 'a 64-bit number of a response keeps every digit',
    'loses an event': 'a subscription from the beginning returns every event in order',
    'repeats an event': 'a subscription from the beginning returns every event in order',
    'settles a failed event as done':
      'an event whose handler parks it is parked with the reason, and the later events follow',
    'handles an event twice': 'a consumer handles every event once, in order',
    'accepts every event': 'an event of upstream passes the verification, and a changed one does not',
    'takes a pending activity for a completed one': 'an activity that needs consensus is pending',
    'ends with an error': 'a submit returns the result of its activity',
    'takes an unknown outcome for a refusal': 'a submit whose repetition upstream refuses has an unknown outcome',
  };
  const liar = fileURLToPath(new URL('drivers/reference/lying_driver.mjs', import.meta.url));

  /** The names of the cases that a driver fails. */
  async function failedBy(language, chosen) {
    const failed = [];
    await judge([language], chosen, ({ name }, _, fault) => fault !== undefined && failed.push(name));
    return failed;
  }
  const named = (...names) => cases.filter(({ name }) => names.includes(name));

  test('(but none in a driver that is right)', async () => {
    assert.deepEqual(await failedBy(reference, named(...Object.values(found))), []);
  });

  for (const [lie, title] of Object.entries(found)) {
    test(lie, async () => {
      const language = { name: 'liar', program: { command: [process.execPath, liar, lie] } };
      assert.deepEqual(await failedBy(language, named(title)), [title]);
    });
  }

  test('ends early, or cannot be started', async () => {
    const [theCase] = cases;
    for (const command of [['false'], ['/nowhere/driver']]) {
      assert.deepEqual(await failedBy({ name: 'dead', program: { command } }, [theCase]), [theCase.name]);
    }
  });

  test('does another thing than the case expects, if only one expectation changes', async () => {
    const [theCase] = named('pages of a list join without a gap');
    const steps = structuredClone(theCase.steps.map(({ gives, ...step }) => step));
    const changed = steps.map((step, index) => ({ ...step, gives: theCase.steps[index].gives }));
    changed[1].request.pagination_options.after = 'aaaaaaaa-bbbb-4ccc-8ddd-000000000013';
    assert.deepEqual(await failedBy(reference, [{ ...theCase, steps: changed }]), [theCase.name]);
  });
});
