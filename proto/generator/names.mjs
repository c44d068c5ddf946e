// How names are written in upstream's JSON, in published types, and in protos.

/** The proto name of a JSON member: `organizationId` becomes `organization_id`, and `otpURL` becomes `otp_url`. */
export const snake = (name) => name.replace(/([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])/g, '$1$3_$2$4').toLowerCase();

/** The JSON name that protoc derives from a proto name. */
export const camel = (name) => name.replace(/_+([a-z0-9])/g, (_, letter) => letter.toUpperCase());

/** A snake_case name in PascalCase: `create_wallet` becomes `CreateWallet`. */
export const pascal = (name) => camel(`_${name}`);

/** The prefix that the values of an enum have, without the final underscore. */
export const upperSnake = (name) => snake(name).toUpperCase();

/** The name of a definition without the prefix that the published types give it, such as `v1`. */
export const bare = (definition) => definition.replace(/^[a-z]+v1(?=[A-Z])|^v1(?=[A-Z])|^[a-z]+(?=[A-Z])/, '');

/** The version suffix of an activity type: `ACTIVITY_TYPE_CREATE_USERS_V4` has `V4`. Empty for a first version. */
export const versionOf = (activityType) => /_(V\d+)$/.exec(activityType)?.[1] ?? '';
