import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lock, emptyLock } from './lock.mjs';

test('new fields have the next free numbers, in the given order', () => {
  const lock = new Lock(emptyLock());
  assert.deepEqual(lock.fields('M', ['a', 'b']), { a: 1, b: 2 });
  assert.deepEqual(lock.fields('M', ['c', 'b', 'a']), { a: 1, b: 2, c: 3 });
});

test('the number of a removed field is never given to another field', () => {
  const lock = new Lock(emptyLock());
  lock.fields('M', ['a', 'b']);
  assert.equal(lock.fields('M', ['a', 'c']).c, 3);
  assert.deepEqual(lock.retired('M', ['a', 'c']), [['b', 2]]);
  assert.equal(lock.fields('M', ['a', 'b', 'c']).b, 2);
});

test('other fields leave out the numbers that a message fixes', () => {
  const lock = new Lock(emptyLock());
  const fixed = { stamp: 3 };
  const names = ['a', 'b', 'c', 'd'];
  assert.deepEqual(lock.fields('M', [...names, 'stamp'], fixed), { a: 1, b: 2, c: 4, d: 5, stamp: 3 });
  assert.equal(lock.fields('M', ['e'], fixed).e, 6);
});

test('the values of an enum begin with 1, and keep their numbers', () => {
  const lock = new Lock(emptyLock());
  assert.deepEqual(lock.values('E', ['X', 'Y']), { X: 1, Y: 2 });
  assert.deepEqual(lock.values('E', ['Z', 'Y']), { X: 1, Y: 2, Z: 3 });
});
