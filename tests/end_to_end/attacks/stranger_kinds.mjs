// What clients that are no callers can make the gateway hold: TCP connections and TLS handshakes.
import { connect as connectTls } from 'node:tls';
import { Http2Attacker, clientHello, connectAndSend, leaveHandshake } from '../http2_attacker.mjs';

/** Calls `begin` with the numbers from 0 to `count` - 1, at most 50 at a time. */
async function each(count, begin) {
  for (let begun = 0; begun < count; begun += 50) {
    const some = Array.from({ length: Math.min(50, count - begun) }, (_, index) => begin(begun + index));
    await Promise.all(some);
  }
}

/** The head of a TLS record with a handshake message of 16 KiB. */
const RECORD_HEAD = Buffer.of(0x16, 3, 1, 0x40, 0);

/** @type {Record<string, import('./kinds.mjs').Kind>} */
export const STRANGER_KINDS = {
  silentHandshakes: {
    holds: '1,000 connections that send nothing',
    parties: ['nobody'],
    begin: (scene) => each(1000, () => connectAndSend(scene.address, Buffer.alloc(0))),
  },
  begunHandshakes: {
    holds: '1,000 handshakes that are begun and left',
    parties: ['nobody', 'stranger'],
    async begin(scene) {
      const hello = await clientHello(scene.tls());
      await each(1000, () => connectAndSend(scene.address, hello));
    },
  },
  handshakesLeftInTheMiddle: {
    holds: '300 handshakes that are left in the middle',
    parties: ['stranger', 'caller'],
    begin: (scene) => each(300, () => leaveHandshake(scene.address, scene.tls())),
  },
  slowHandshakes: {
    holds: '256 handshakes of which a byte arrives every 100 ms',
    parties: ['nobody'],
    async begin(scene) {
      const hello = await clientHello(scene.tls());
      const sockets = [];
      await each(256, async () => sockets.push(await connectAndSend(scene.address, hello.subarray(0, 1))));
      let sent = 1;
      scene.every(100, async () => {
        for (const socket of sockets) if (socket.writable) socket.write(hello.subarray(sent, sent + 1));
        sent += 1;
      });
    },
  },
  unfinishedRecords: {
    holds: '256 records of 16 KiB in handshakes without their last byte',
    parties: ['nobody'],
    begin: (scene) =>
      each(256, () => connectAndSend(scene.address, Buffer.concat([RECORD_HEAD, Buffer.alloc(16_383)]))),
  },
  largeCertificates: {
    holds: '400 connections with chains of 100 certificates',
    parties: ['stranger', 'caller'],
    async begin(scene) {
      const tls = scene.tls();
      const cert = tls.cert + tls.ca.repeat(100);
      await each(400, () => Http2Attacker.open(scene.address, { ...tls, cert }));
    },
  },
  refusedConnections: {
    holds: 'connections without a right, 100 a second',
    parties: ['nobody', 'stranger'],
    begin: async (scene) => scene.every(200, () => each(20, () => scene.open())),
  },
  oldTls: {
    holds: 'handshakes of TLS 1.1 and of another protocol, 100 a second',
    parties: ['nobody'],
    async begin(scene) {
      const [host, port] = scene.address.split(':');
      /** @type {import('node:tls').ConnectionOptions} */
      const options = {
        host,
        port: Number(port),
        minVersion: 'TLSv1.1',
        maxVersion: 'TLSv1.1',
        ciphers: 'ALL:@SECLEVEL=0',
      };
      scene.every(200, () =>
        each(20, async (index) => {
          if (index % 2 === 0)
            return connectAndSend(scene.address, Buffer.from('GET / HTTP/1.1\r\nHost: gateway\r\n\r\n'));
          return connectTls(options).on('error', () => {});
        }),
      );
    },
  },
};
