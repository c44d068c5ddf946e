// A client of @grpc/grpc-js whose certificates and token come from files that can change.
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Client, Metadata, credentials, type CallCredentials, type ChannelOptions } from '@grpc/grpc-js';

/** Paths of PEM files. They are read again when they change. */
export interface TlsFiles {
  /** The certificates of the authorities that issue the gateway's certificate. By default those of Node.js. */
  ca?: string;
  /** The client's certificate. */
  certificate?: string;
  /** The private key of `certificate`. */
  key?: string;
}

/** A file that is read for each call, or a function that returns the current token. */
export type Token = { file: string } | (() => string | Promise<string>);

/** The files are read again when a call starts, at most once in this time. */
export const REREAD_MS = 1_000;

/** Time for the calls that wait for a connection with the certificates that were replaced. */
const REPLACED_CLIENT_MS = 60_000;

/**
 * Returns a function that returns the client for a new call.
 * @throws if the files cannot be used
 */
export function openChannel(address: string, options: ChannelOptions, tls?: TlsFiles, token?: Token): () => Client {
  if (!tls) {
    if (token) throw new TypeError('a token is sent only over TLS: set `tls` too');
    const client = new Client(address, credentials.createInsecure(), options);
    return () => client;
  }
  const open = ([ca, key, certificate]: Files) => {
    const ssl = credentials.createSsl(ca, key, certificate);
    return new Client(address, token ? ssl.compose(tokenCredentials(token)) : ssl, options);
  };
  let files = read(tls);
  let client = open(files);
  let readAt = Date.now();
  return () => {
    if (Date.now() - readAt < REREAD_MS) return client;
    readAt = Date.now();
    try {
      const current = read(tls);
      if (current.join() === files.join()) return client;
      const replaced = client;
      client = open(current);
      files = current;
      // Calls that already have a connection end on it, also after this time.
      setTimeout(() => replaced.close(), REPLACED_CLIENT_MS).unref();
    } catch {
      // The files may be changing at this moment, or do not fit each other yet.
    }
    return client;
  };
}

type Files = (Buffer | null)[];

const read = ({ ca, key, certificate }: TlsFiles): Files =>
  [ca, key, certificate].map((path) => (path === undefined ? null : readFileSync(path)));

function tokenCredentials(token: Token): CallCredentials {
  const current = typeof token === 'function' ? token : () => readFile(token.file, 'utf8');
  const metadata = async () => Metadata.fromHttp2Headers({ authorization: `Bearer ${(await current()).trim()}` });
  return credentials.createFromMetadataGenerator((_, callback) => {
    metadata().then((made) => callback(null, made), callback);
  });
}
