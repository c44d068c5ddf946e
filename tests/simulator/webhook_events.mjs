// The bodies of events, as the service writes them.

/**
 * The event types. `bodyType` is the `type` in the body of an event; an activity's body has the activity's own type.
 */
export const ACTIVITY_UPDATES = 'ACTIVITY_UPDATES';
const BALANCE_TYPES = {
  confirmed: { type: 'BALANCE_CONFIRMED_UPDATES', bodyType: 'balances:confirmed' },
  finalized: { type: 'BALANCE_FINALIZED_UPDATES', bodyType: 'balances:finalized' },
};
const TRANSACTION_TYPE = { type: 'SEND_TRANSACTION_STATUS_UPDATES', bodyType: 'transaction:status' };

export const finalities = Object.keys(BALANCE_TYPES);
export const transactionStatuses = ['BROADCASTING', 'INCLUDED', 'FAILED'];

/**
 * The body of a minimal activity.
 * @param {{eventId: string, organizationId: string, bytes?: number}} about `bytes`: the body's minimum length
 */
export function simpleActivity({ eventId, organizationId, bytes = 0 }) {
  const [status, type] = ['ACTIVITY_STATUS_COMPLETED', 'ACTIVITY_TYPE_SIMULATED'];
  const activity = { id: eventId, organizationId, status, type };
  const plain = JSON.stringify(activity);
  const missing = bytes - Buffer.byteLength(plain) - ',"padding":""'.length;
  return missing < 0 ? plain : JSON.stringify({ ...activity, padding: 'x'.repeat(missing) });
}

/**
 * @param {object} about
 * @param {string} about.organizationId the organization whose balance changed
 * @param {string} [about.parentOrganizationId]
 * @param {'confirmed' | 'finalized'} about.finality
 * @param {'number' | 'string'} about.numbers the JSON type of `decimals` and the block's number; sources differ
 * @param {string} about.idempotencyKey
 * @param {object} about.msg replaces members of the message
 */
export function balanceEvent({ organizationId, parentOrganizationId, finality, numbers, idempotencyKey, msg }) {
  const { type, bodyType } = BALANCE_TYPES[finality];
  const spell = (number) => (numbers === 'string' ? String(number) : number);
  const message = {
    operation: 'deposit',
    caip2: 'eip155:8453',
    txHash: `0x${'01'.repeat(32)}`,
    address: `0x${'02'.repeat(20)}`,
    idempotencyKey,
    asset: {
      symbol: 'USDC',
      name: 'USD Coin',
      decimals: spell(6),
      caip19: `eip155:8453/erc20:0x${'03'.repeat(20)}`,
      amount: '1000000',
    },
    block: { number: spell(21_000_000), hash: `0x${'04'.repeat(32)}`, timestamp: '2026-01-01T00:00:00Z' },
    ...msg,
  };
  return { type, body: JSON.stringify({ type: bodyType, organizationId, parentOrganizationId, msg: message }) };
}

/**
 * @param {object} about
 * @param {string} about.organizationId the organization that made the transaction
 * @param {string} [about.parentOrganizationId]
 * @param {'BROADCASTING' | 'INCLUDED' | 'FAILED'} about.status
 * @param {string} about.idempotencyKey
 * @param {bigint} about.nowMs
 * @param {object} about.msg replaces members of the message
 */
export function transactionEvent({ organizationId, parentOrganizationId, status, idempotencyKey, nowMs, msg }) {
  const { type, bodyType } = TRANSACTION_TYPE;
  const message = {
    sendTransactionStatusId: 'aaaaaaaa-bbbb-4ccc-8ddd-000000000071',
    activityId: 'aaaaaaaa-bbbb-4ccc-8ddd-000000000072',
    status,
    caip2: 'eip155:8453',
    idempotencyKey,
    timestamp: Number(nowMs / 1000n),
    txHash: status === 'INCLUDED' ? `0x${'01'.repeat(32)}` : undefined,
    error: status === 'FAILED' ? 'execution reverted' : undefined,
    ...msg,
  };
  return { type, body: JSON.stringify({ type: bodyType, organizationId, parentOrganizationId, msg: message }) };
}
