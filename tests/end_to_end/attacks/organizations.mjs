// The organizations in tests with attacks: the id of an organization states how upstream answers requests for it.

/**
 * @typedef {object} Answers
 * @property {number} [kilobytes] the size of an answer to ListPolicies, in 1,000 bytes
 * @property {number} [delayMs]
 * @property {boolean} [isSplit] whether an answer to ListPolicies consists of as many policies as possible
 * @property {boolean} [isPending] whether activities do not end
 */

/** The id of an organization for which upstream answers so. @param {Answers} answers */
export function organizationWith({ kilobytes = 0, delayMs = 0, isSplit = false, isPending = false } = {}) {
  const digits = [kilobytes, delayMs].map((number) => String(number).padStart(6, '0'));
  return `22222222-${Number(isSplit)}000-4000-8${Number(isPending)}00-${digits.join('')}`;
}

/** How upstream answers a request whose body begins with this text. @returns {Required<Answers> & {id: string}} */
export function answersTo(text) {
  const [, id, split, pending, kilobytes, delayMs] =
    /"organizationId":"(22222222-(\d)000-4000-8(\d)00-(\d{6})(\d{6}))"/.exec(text);
  return {
    id,
    isSplit: split === '1',
    isPending: pending === '1',
    kilobytes: Number(kilobytes),
    delayMs: Number(delayMs),
  };
}
