// Stamps of end users: the gateway prepares the bytes of a request, and an end user's key signs them.
import { createECDH, createPrivateKey, sign } from 'node:crypto';
import { create, toBinary, type DescMethodUnary, type MessageInitShape } from '@bufbuild/protobuf';
import type { CallOptions, Gateway } from './gateway.js';
import { ClientStampSchema, StampService, type ClientStamp, type PrepareResponse } from './v1.js';

/** Stamps the prepared bytes. `case` names the kind of the stamp, and `value` is the value of the stamp header. */
export type Stamper = (prepared: PrepareResponse) => ClientStamp['stamp'] | Promise<ClientStamp['stamp']>;

export async function stamp<Method extends DescMethodUnary>(
  this: Gateway,
  method: Method,
  init: MessageInitShape<Method['input']>,
  stamper: Stamper,
  options?: CallOptions,
): Promise<ClientStamp> {
  const request = toBinary(method.input, create(method.input, init));
  const name = `${method.parent.typeName}/${method.name}`;
  const prepared = await this.call(StampService.method.prepare, { method: name, request }, options);
  return create(ClientStampSchema, { body: prepared.body, stamp: await stamper(prepared) });
}

/** Stamps with an API key on the curve P-256. `privateKey` is the private key in hexadecimal digits. */
export function apiKeyStamper(privateKey: string): Stamper {
  const ecdh = createECDH('prime256v1');
  ecdh.setPrivateKey(privateKey, 'hex');
  const point = ecdh.getPublicKey(); // a byte for the form, and the coordinates
  const numbers = [Buffer.from(privateKey, 'hex'), point.subarray(1, 33), point.subarray(33)];
  const [d, x, y] = numbers.map((number) => number.toString('base64url'));
  const key = createPrivateKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', d, x, y } });
  const publicKey = ecdh.getPublicKey('hex', 'compressed');
  return ({ body }) => {
    const signature = sign('sha256', body, key).toString('hex');
    const value = JSON.stringify({ publicKey, scheme: 'SIGNATURE_SCHEME_TK_API_P256', signature });
    return { case: 'apiKey', value: Buffer.from(value).toString('base64url') };
  };
}
