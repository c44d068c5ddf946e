// Stamps of end users: the gateway prepares the bytes of a request, and an end user's key signs them.
import { createECDH, createPrivateKey, sign } from 'node:crypto';
import { create, toBinary } from '@bufbuild/protobuf';
import type { DescMessage, DescMethodUnary, MessageInitShape } from '@bufbuild/protobuf';
import type { CallOptions, Gateway } from './gateway.js';
import { ClientStampSchema } from './gen/stampgate/v1/client_stamp_pb.js';
import type { ClientStamp } from './gen/stampgate/v1/client_stamp_pb.js';
import { StampService } from './gen/stampgate/v1/stamp_service_pb.js';
import type { PrepareResponse } from './gen/stampgate/v1/stamp_service_pb.js';

/** Stamps the prepared bytes. `case` names the kind of the stamp, and `value` is the value of the stamp header. */
export type Stamper = (prepared: PrepareResponse) => ClientStamp['stamp'] | Promise<ClientStamp['stamp']>;

export async function stamp<I extends DescMessage, O extends DescMessage>(
  gateway: Gateway,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  stamper: Stamper,
  options?: CallOptions,
): Promise<ClientStamp> {
  const prepared = await gateway.call(
    StampService.method.prepare,
    {
      method: `${method.parent.typeName}/${method.name}`,
      request: toBinary(method.input, create(method.input, request)),
    },
    options,
  );
  return create(ClientStampSchema, { body: prepared.body, stamp: await stamper(prepared) });
}

/** Stamps with an API key on the curve P-256. `privateKey` is the private key in hexadecimal digits. */
export function apiKeyStamper(privateKey: string): Stamper {
  const ecdh = createECDH('prime256v1');
  ecdh.setPrivateKey(privateKey, 'hex');
  const point = ecdh.getPublicKey();
  const coordinate = (start: number) => point.subarray(start, start + 32).toString('base64url');
  const d = Buffer.from(privateKey, 'hex').toString('base64url');
  const jwk = { kty: 'EC', crv: 'P-256', d, x: coordinate(1), y: coordinate(33) };
  const key = createPrivateKey({ format: 'jwk', key: jwk });
  const publicKey = ecdh.getPublicKey('hex', 'compressed');
  return ({ body }) => {
    const signature = sign('sha256', body, key).toString('hex');
    const value = JSON.stringify({ publicKey, scheme: 'SIGNATURE_SCHEME_TK_API_P256', signature });
    return { case: 'apiKey', value: Buffer.from(value).toString('base64url') };
  };
}
