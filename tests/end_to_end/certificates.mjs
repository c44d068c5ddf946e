// Creates certificates for tests with OpenSSL's command line.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
const openssl = (...args) => execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });

/**
 * Creates a certificate authority in `folder`.
 * @returns {{file: string, issue: (options?: {name?: string, days?: number, usage?: string, more?: string}) => {cert:
 *     Buffer, key: Buffer}}} `issue` makes a certificate with the subjectAltName `name`; with negative `days` it has
 *     expired. `more` are lines of OpenSSL's extension file
 */
export function makeAuthority(folder, name) {
  const place = (file) => join(folder, `${name}-${file}`);
  const file = place('ca.pem');
  openssl('req', '-x509', ...KEY, '-keyout', place('ca.key'), '-out', file, '-subj', `/CN=${name}`, '-days', '2');
  let issued = 0;
  return {
    file,
    issue({ name: host = 'IP:127.0.0.1', days = 2, usage = 'serverAuth', more = 'basicConstraints=CA:FALSE' } = {}) {
      const [key, request, extensions, cert] = ['key', 'csr', 'ext', 'pem'].map((end) => place(`${issued}.${end}`));
      issued += 1;
      openssl('req', ...KEY, '-keyout', key, '-out', request, '-subj', '/CN=127.0.0.1');
      writeFileSync(extensions, `subjectAltName=${host}\nextendedKeyUsage=${usage}\n${more}\n`);
      const authority = ['-CA', file, '-CAkey', place('ca.key'), '-CAcreateserial', '-days', String(days)];
      openssl('x509', '-req', '-in', request, ...authority, '-extfile', extensions, '-out', cert);
      return { cert: readFileSync(cert), key: readFileSync(key) };
    },
  };
}
