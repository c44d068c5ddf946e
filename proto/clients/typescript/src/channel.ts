// A channel whose certificates and token come from files that can change.
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Client, Metadata, credentials } from '@grpc/grpc-js';
import type { ChannelCredentials, ChannelOptions } from '@grpc/grpc-js';
import { REREAD_MS } from './retry.js';

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

/** A connection, and the number of calls that use it. */
export interface Lease {
  readonly client: Client;
  calls: number;
}

/** Leases the connection with the current certificates. */
export class Channel {
  #current: Lease;
  #credentials: ChannelCredentials;
  readonly #currentCredentials: () => ChannelCredentials;

  constructor(
    readonly address: string,
    tls: TlsFiles | undefined,
    token: Token | undefined,
    readonly options: ChannelOptions,
  ) {
    if (token && !tls) throw new TypeError('a token is sent only over TLS: set `tls` too');
    this.#currentCredentials = tls ? tlsCredentials(tls, token) : () => this.#credentials;
    this.#credentials = tls ? this.#currentCredentials() : credentials.createInsecure();
    this.#current = this.#open();
  }

  /** The connection for a new call. The caller must release it when the call has ended. */
  acquire(): Lease {
    const current = this.#currentCredentials();
    if (current !== this.#credentials) {
      const old = this.#current;
      this.#credentials = current;
      this.#current = this.#open();
      if (old.calls === 0) old.client.close();
    }
    this.#current.calls += 1;
    return this.#current;
  }

  release(lease: Lease): void {
    lease.calls -= 1;
    if (lease !== this.#current && lease.calls === 0) lease.client.close();
  }

  close(): void {
    this.#current.client.close();
  }

  #open(): Lease {
    return { client: new Client(this.address, this.#credentials, this.options), calls: 0 };
  }
}

/**
 * A function that returns the same credentials until a file has changed.
 * @throws if the files cannot be used when they are read for the first time
 */
function tlsCredentials({ ca, certificate, key }: TlsFiles, token: Token | undefined): () => ChannelCredentials {
  const ofCalls = token && callCredentials(token);
  const read = () => [ca, key, certificate].map((path) => (path === undefined ? null : readFileSync(path)));
  const make = ([rootCerts = null, privateKey = null, certChain = null]: (Buffer | null)[]) => {
    const ssl = credentials.createSsl(rootCerts, privateKey, certChain);
    return ofCalls ? credentials.combineChannelCredentials(ssl, ofCalls) : ssl;
  };
  let files = read();
  let made = make(files);
  let readAt = Date.now();
  return () => {
    if (Date.now() - readAt < REREAD_MS) return made;
    readAt = Date.now();
    try {
      const now = read();
      if (now.join() !== files.join()) {
        made = make(now);
        files = now;
      }
    } catch {
      // The files may be changing at this moment, or do not fit each other yet.
    }
    return made;
  };
}

function callCredentials(token: Token) {
  const current = typeof token === 'function' ? token : () => readFile(token.file, 'utf8');
  return credentials.createFromMetadataGenerator((_, callback) => {
    const metadataOf = async () => {
      const metadata = new Metadata();
      metadata.set('authorization', `Bearer ${(await current()).trim()}`);
      return metadata;
    };
    metadataOf().then((metadata) => callback(null, metadata), callback);
  });
}
