// Tests that the published service config makes client libraries repeat only calls whose repetition is harmless.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../paths.mjs';

const PROTO = join(root, 'proto');

/** Returns the service, the name, the kind and the class of every method in the protos, and whether it streams. */
function methods() {
  const folder = join(PROTO, 'stampgate/v1');
  return readdirSync(folder).flatMap((file) => {
    const text = readFileSync(join(folder, file), 'utf8');
    const service = /^service (\w+)/m.exec(text)?.[1];
    return [...text.matchAll(/^ {2}rpc (\w+)\(\w+\) returns \((stream )?\w+\) \{(.*?)^ {2}\}/gms)].map(
      ([, method, stream, body]) => ({
        service: `stampgate.v1.${service}`,
        method,
        streams: stream !== undefined,
        kind: /OPERATION_KIND_(\w+)/.exec(body)[1],
        ofClass: /POLICY_CLASS_(\w+)/.exec(body)?.[1],
      }),
    );
  });
}

const { methodConfig } = JSON.parse(readFileSync(join(PROTO, 'service_config.json'), 'utf8'));

test('the service config repeats each query and each unary method of class events, and never a submit', () => {
  const repeated = methods()
    .filter(({ kind, ofClass, streams }) => ['QUERY', 'DISCOVERY'].includes(kind) || (ofClass === 'EVENTS' && !streams))
    .map(({ service, method }) => `${service}/${method}`);
  assert.ok(repeated.length > 5);
  const named = methodConfig.flatMap(({ name }) => name.map(({ service, method }) => `${service}/${method}`));
  assert.deepEqual(named.sort(), repeated.sort());
});

test('the service config repeats a call only after UNAVAILABLE', () => {
  for (const { retryPolicy } of methodConfig) assert.deepEqual(retryPolicy.retryableStatusCodes, ['UNAVAILABLE']);
});
