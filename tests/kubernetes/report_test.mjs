// The report of a disruption finds submits that are lost, doubled, or carried out despite an error.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportOf } from './report.mjs';

const submit = (policy, more = {}) => ({ begin_ms: 0, end_ms: 20, policy, ...more });
const query = (end_ms, more = {}) => ({ begin_ms: end_ms - 20, end_ms, ...more });
const activities = (...names) =>
  names.map((policyName) => ({ intent: { createPoliciesIntent: { policies: [{ policyName }] } } }));

test('a submit that succeeded and has no activity is lost', () => {
  const { lost, doubled } = reportOf([submit('a'), submit('b')], activities('b'));
  assert.deepEqual({ lost, doubled }, { lost: 1, doubled: 0 });
});

test('a submit with two activities is doubled, also if it failed', () => {
  const calls = [submit('a'), submit('b', { error: 'UNAVAILABLE', is_unknown: true })];
  assert.equal(reportOf(calls, activities('a', 'a', 'b', 'b')).doubled, 2);
});

test('a submit may have an activity despite an error only if its outcome is unknown', () => {
  const calls = [submit('a', { error: 'refused' }), submit('b', { error: 'deadline', is_unknown: true })];
  const { unexpected, failedSubmits } = reportOf(calls, activities('a', 'b'));
  assert.deepEqual({ unexpected, failedSubmits }, { unexpected: 1, failedSubmits: 2 });
});

test('the longest gap may come before the first success', () => {
  assert.equal(reportOf([query(100, { error: 'UNAVAILABLE' }), query(2000), query(2100)], []).longestGapMs, 1920);
});

test('the longest gap is between two successes, however many calls fail in it', () => {
  const calls = [query(100), query(150, { error: 'UNAVAILABLE' }), query(1100), query(1200)];
  const { longestGapMs, failedQueries, calls: count } = reportOf(calls, []);
  assert.deepEqual({ longestGapMs, failedQueries, count }, { longestGapMs: 1000, failedQueries: 1, count: 4 });
});
