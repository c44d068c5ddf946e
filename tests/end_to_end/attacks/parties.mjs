// The parties of the tests with attacks: honest callers, callers that attack, a stranger, whose certificate belongs to
// no caller, and a client without a certificate.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '../../clients/gateway.mjs';
import { makeAuthority } from '../certificates.mjs';

/** Callers that attack, with valid certificates. */
export const ATTACKERS = ['attacker', 'second-attacker', 'third-attacker', 'fourth-attacker'];

/** Honest callers. */
export const HONEST = Array.from({ length: 20 }, (_, index) => `honest-${index + 1}`);

const spiffeId = (name) => `spiffe://example.org/${name}`;

/** The section `callers` of a config: callers with these names, whose grant, for all organizations, has these rights. */
export const callersOf = (names, rights) =>
  names.map((name) => ({ name, spiffe_ids: [spiffeId(name)], grants: [{ ...rights, all_organizations: true }] }));

/**
 * Makes the files of the section `tls`, and the TLS options of each client: those with these names, a `stranger` and
 * `nobody`, a client without a certificate.
 * @returns {{section: object, tlsOf: Record<string, {ca: string, cert?: string, key?: string}>}} all PEM
 */
export function makeTls(folder, names) {
  const servers = makeAuthority(folder, 'servers');
  const clients = makeAuthority(folder, 'clients');
  const { cert, key } = servers.issue({ name: 'DNS:gateway.example' });
  const section = {
    certificate_file: join(folder, 'tls.crt'),
    private_key_file: join(folder, 'tls.key'),
    client_ca_file: clients.file,
  };
  writeFileSync(section.certificate_file, cert);
  writeFileSync(section.private_key_file, key, { mode: 0o600 });
  const ca = readFileSync(servers.file, 'utf8');
  const clientOf = (name) => {
    const issued = clients.issue({ name: `URI:${spiffeId(name)}`, usage: 'clientAuth' });
    return { ca, cert: `${issued.cert}`, key: `${issued.key}` };
  };
  const tlsOf = Object.fromEntries([...names, 'stranger'].map((name) => [name, clientOf(name)]));
  return { section, tlsOf: { ...tlsOf, nobody: { ca } } };
}

/** A channel of a client with these TLS options. */
export const channel = (address, { ca, cert, key }) => {
  const tls = { ca: Buffer.from(ca), ...(cert && { cert: Buffer.from(cert), key: Buffer.from(key) }) };
  return connect(address, { tls, 'grpc.ssl_target_name_override': 'gateway.example' });
};
