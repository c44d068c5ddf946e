// Requests of other protocols than gRPC on the gRPC port get the status 415, as gRPC's specification wants it, and reach
// nothing.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { after, describe, test } from 'node:test';
import { encode } from '../clients/gateway.mjs';
import { QUERY, SUBMIT } from './failures.mjs';
import { HANG_MS, startStack } from './harness.mjs';

const framed = (message) => {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
};

const message = Buffer.from(encode(SUBMIT.method, SUBMIT.request));
const json = Buffer.from(JSON.stringify(SUBMIT.request));
const post = (contentType) => ({ ':method': 'POST', ...(contentType && { 'content-type': contentType }) });

const query = framed(Buffer.from(encode(QUERY.method, QUERY.request)));

describe('the gRPC port', { timeout: HANG_MS }, async () => {
  const { simulator, gateway } = await startStack({ after });
  const open = () => {
    const opened = connect(`http://${gateway.address}`);
    after(() => opened.destroy());
    opened.on('error', () => {});
    return opened;
  };
  const session = open();
  const closed = once(session, 'goaway').then(() => assert.fail('the connection ends'));
  closed.catch(() => {});

  /** Resolves to the status and the trailer grpc-status of a request to the method. */
  const ask = async (headers, body, { method } = SUBMIT, connection = session) => {
    const stream = connection.request({ ':path': `/stampgate.v1.${method}`, te: 'trailers', ...headers });
    stream.on('error', () => {});
    let [status, grpc] = [];
    stream.on('response', (fields) => {
      status = fields[':status'];
      grpc = fields['grpc-status'];
    });
    stream.on('trailers', (fields) => {
      grpc = fields['grpc-status'];
    });
    stream.resume();
    stream.end(body);
    await once(stream, 'close');
    return { status, grpc };
  };

  for (const [title, headers, body] of [
    ['JSON', post('application/json'), json],
    ['Connect with JSON', { ...post('application/json'), 'connect-protocol-version': '1' }, json],
    ['Connect with protobuf', { ...post('application/proto'), 'connect-protocol-version': '1' }, message],
    ['a stream of Connect', post('application/connect+proto'), framed(message)],
    ['gRPC-Web', post('application/grpc-web+proto'), framed(message)],
    ['gRPC-Web in base64', post('application/grpc-web-text'), Buffer.from(framed(message).toString('base64'))],
    ['a form', post('application/x-www-form-urlencoded'), Buffer.from('a=b')],
    ['no content type', post(), framed(message)],
    ['GET', { ':method': 'GET' }, undefined],
    ['a long body', post('application/octet-stream'), Buffer.alloc(300_000)],
  ]) {
    test(`answers 415 to ${title}, and sends nothing upstream`, async () => {
      simulator.reset();
      // The second request refers to header fields of the first one.
      for (let i = 0; i < 2; ++i) assert.deepEqual(await ask(headers, body), { status: 415, grpc: undefined });
      assert.equal(simulator.stats().requests, 0);
      for (const type of ['application/grpc', 'application/grpc+proto']) {
        assert.deepEqual(await ask(post(type), query, QUERY), { status: 200, grpc: '0' });
      }
      assert.equal(simulator.stats().requests, 2);
    });
  }

  test('answers 415 to many requests at the same time, between calls', async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        i % 2 ? ask(post('application/json'), json) : ask(post('application/grpc'), query, QUERY),
      ),
    );
    answers.forEach(({ status, grpc }, i) => assert.deepEqual([status, grpc], i % 2 ? [415, undefined] : [200, '0']));
  });

  // The request arrives while gRPC begins to use the connection.
  test('answers calls after a connection has begun with a request of another protocol', async () => {
    for (let i = 0; i < 60; ++i) {
      const connection = open();
      assert.deepEqual(await ask(post('application/json'), json, SUBMIT, connection), { status: 415, grpc: undefined });
      assert.deepEqual(await ask(post('application/grpc'), query, QUERY, connection), { status: 200, grpc: '0' });
      connection.close();
    }
  });
});
