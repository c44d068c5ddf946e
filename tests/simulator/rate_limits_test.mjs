// Tests of the simulator's rate limits.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isLimits, RateLimits } from './rate_limits.mjs';

describe('rate limits', () => {
  it('hold in every interval, for each source', () => {
    let now = 0;
    const limits = new RateLimits(() => now);
    const both = [
      { requests: 2, perMs: 1000 },
      { requests: 3, perMs: 10_000 },
    ];
    const take = (source = 'a') => limits.take(source, both);
    assert.deepEqual(take().headers, { 'ratelimit-limit': '2', 'ratelimit-remaining': '1' });
    now = 500;
    assert.equal(take().refusal, undefined);
    const refused = take();
    assert.equal(refused.refusal.errorCode, 'RATE_LIMIT_EXCEEDED');
    assert.deepEqual(refused.headers, { 'ratelimit-limit': '2', 'ratelimit-remaining': '0', 'retry-after': '1' });
    assert.equal(take('b').refusal, undefined);
    now = 1001;
    assert.equal(take().refusal, undefined);
    now = 2001;
    assert.equal(take().headers['retry-after'], '8');
    now = 10_001;
    assert.equal(take().refusal, undefined);
  });

  it('can concern one path only', () => {
    const limits = new RateLimits(() => 0);
    const take = (path) =>
      limits.take(
        'a',
        [
          { requests: 1, perMs: 1000, path: '/a' },
          { requests: 3, perMs: 1000 },
        ],
        path,
      ).refusal;
    assert.equal(take('/a'), undefined);
    assert.equal(take('/b'), undefined);
    assert.equal(take('/a').errorCode, 'RATE_LIMIT_EXCEEDED');
    assert.equal(take('/b'), undefined, 'a refused request does not count');
    assert.equal(take('/b').errorCode, 'RATE_LIMIT_EXCEEDED');
  });

  it('are none by default', () => {
    assert.deepEqual(new RateLimits().take('a', []), { headers: {}, refusal: undefined });
  });

  it('are positive numbers', () => {
    assert.ok(isLimits([]));
    assert.ok(isLimits([{ requests: 1, perMs: 1 }]));
    for (const wrong of [{}, [{ requests: 0, perMs: 1 }], [{ requests: 1 }], [{ requests: 1.5, perMs: 1 }]]) {
      assert.ok(!isLimits(wrong));
    }
  });
});
