// A release that upstream has not published, with every kind of change that upstream's releases can have.

/**
 * @typedef {import('../../proto/generator/published.mjs').Kind} Kind
 * @typedef {import('../../proto/generator/release.mjs').ReadRelease} ReadRelease
 */

/** @type {import('../../proto/generator/catalog.mjs').Release} */
export const MADE_UP = { source: 'crate', version: '9.0.0', day: '2026-12-01', integrity: '' };

/**
 * Adds the release's entries to the reviewed tables: only one of the two members with other names, and the kind about
 * which the sources disagree.
 * @param {import('../../proto/generator/reviewed.mjs').Reviewed} reviewed
 */
export function review({ fields, sources }) {
  fields['v1UpdateOrganizationNameIntent.newName'] = {
    text: 'Name of the organization. It is the newer name of organization_name.',
    public: true,
    replaces: 'organizationName',
  };
  sources['v1UpdateUserTagIntent.newUserTagName'] = { kind: 'v1UserTagName', reason: 'This source is the newest one.' };
}

/** @type {Kind} */
const text = { kind: 'string' };
/** @type {(name: string) => Kind} */
const definition = (name) => ({ kind: 'definition', name });
/** @type {(of: Kind) => Kind} */
const listOf = (of) => ({ kind: 'list', of });

/** Makes members from their kinds. A required member has "!" after its name. */
const membersOf = (kinds) =>
  Object.entries(kinds).map(([name, kind]) => ({ name: name.replace('!', ''), required: name.endsWith('!'), kind }));

/**
 * The release after `newest`.
 * @param {ReadRelease} newest
 * @returns {ReadRelease}
 */
export function madeUpRelease(newest) {
  const published = structuredClone(newest.published);
  const { messages } = published;
  const without = (message, name) => messages.get(message).members.filter((member) => member.name !== name);
  const replace = (message, name, kinds) =>
    messages.set(message, { members: [...without(message, name), ...membersOf(kinds)] });
  const add = (message, kinds) => replace(message, '', kinds);
  const submit = (name, type, parameters) => {
    const request = `${name}Request`;
    const path = `/public/v1/submit/${name}`;
    const kinds = {
      'type!': { kind: 'literals', values: [type] },
      'timestampMs!': text,
      'organizationId!': text,
      'parameters!': definition(parameters),
    };
    messages.set(request, { members: membersOf(kinds) });
    published.operations = published.operations.filter((operation) => operation.path !== path);
    published.operations.push({ path, request, response: 'v1ActivityResponse' });
  };

  // Two members have other names.
  replace('v1CreateUserTagIntent', 'userTagName', { 'tagName!': text });
  replace('v1UpdateOrganizationNameIntent', 'organizationName', { 'newName!': text });

  // A message has a new required member.
  add('v1CreateWalletIntent', { 'purpose!': text });

  // Two messages replace another one.
  messages.set('v1AccountPath', { members: membersOf({ 'curve!': definition('v1Curve'), 'path!': text }) });
  messages.set('v1AccountName', {
    members: membersOf({ 'addressFormat!': definition('v1AddressFormat'), name: text }),
  });
  replace('v1CreateWalletAccountsIntent', 'accounts', {
    'paths!': listOf(definition('v1AccountPath')),
    names: listOf(definition('v1AccountName')),
  });

  // An operation has a new version of its activity type, and another one is removed.
  messages.set('v1DeleteWalletsIntentV2', { members: membersOf({ 'walletIds!': listOf(text), 'reason!': text }) });
  submit('delete_wallets', 'ACTIVITY_TYPE_DELETE_WALLETS_V2', 'v1DeleteWalletsIntentV2');
  published.operations = published.operations.filter(({ path }) => path !== '/public/v1/submit/delete_policy');

  // Two operations are new.
  messages.set('v1ArchiveWalletIntent', { members: membersOf({ 'walletId!': text, until: text }) });
  messages.set('v1ArchiveWalletResult', { members: membersOf({ 'archiveId!': text }) });
  submit('archive_wallet', 'ACTIVITY_TYPE_ARCHIVE_WALLET', 'v1ArchiveWalletIntent');
  messages.set('v1GetArchiveRequest', { members: membersOf({ 'organizationId!': text, 'archiveId!': text }) });
  messages.set('v1GetArchiveResponse', { members: membersOf({ 'walletId!': text, curve: definition('v1Curve') }) });
  published.operations.push({
    path: '/public/v1/query/get_archive',
    request: 'v1GetArchiveRequest',
    response: 'v1GetArchiveResponse',
  });

  // A member has another shape, and a new operation uses its message.
  messages.set('v1UserTagName', { members: membersOf({ 'text!': text }) });
  replace('v1UpdateUserTagIntent', 'newUserTagName', { newUserTagName: definition('v1UserTagName') });
  messages.set('v1UpdateUserTagsIntent', {
    members: membersOf({ 'tags!': listOf(definition('v1UpdateUserTagIntent')) }),
  });
  submit('update_user_tags', 'ACTIVITY_TYPE_UPDATE_USER_TAGS', 'v1UpdateUserTagsIntent');

  // An enum has a new value.
  published.enums.get('v1Curve').values.push('CURVE_BLS12381');

  add('v1Intent', {
    deleteWalletsIntentV2: definition('v1DeleteWalletsIntentV2'),
    archiveWalletIntent: definition('v1ArchiveWalletIntent'),
    updateUserTagsIntent: definition('v1UpdateUserTagsIntent'),
  });
  add('v1Result', { archiveWalletResult: definition('v1ArchiveWalletResult') });
  return { release: MADE_UP, published };
}
