// The address of the PostgreSQL servers that the config names.
#ifndef STAMPGATE_GATEWAY_CONFIG_SETTINGS_STORE_ADDRESS_H_
#define STAMPGATE_GATEWAY_CONFIG_SETTINGS_STORE_ADDRESS_H_

#include "base/postgres/server_address.h"
#include "gateway/config/settings/named_files.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

inline PostgresAddress AddressOf(const config::v1::Config& config) {
  const config::v1::PostgresqlStore& store = config.store().postgresql();
  PostgresAddress address;
  address.hosts.assign(store.hosts().begin(), store.hosts().end());
  address.database = store.database();
  address.user = store.user();
  address.schema = store.schema();
  address.password_file = store.password_file();
  address.secret_owners = SecretOwnersOf(config);
  address.plaintext = store.plaintext();
  address.ca_file = store.ca_file();
  address.certificate_file = store.certificate_file();
  address.private_key_file = store.private_key_file();
  address.allow_single_server = store.allow_single_server();
  address.allow_full_page_writes_off = store.allow_full_page_writes_off();
  return address;
}

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_SETTINGS_STORE_ADDRESS_H_
