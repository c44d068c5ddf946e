#!/bin/sh
# Prints a proto with COUNT operations. Half of them are submits. Each operation has its own request message.
#
#   many_operations.sh COUNT
cat <<'PROTO'
syntax = "proto3";

package stampgate.testing.v1;

import "stampgate/v1/activity.proto";
import "stampgate/v1/client_stamp.proto";
import "stampgate/v1/options.proto";

message ManyResponse {
  stampgate.v1.Activity activity = 1 [(stampgate.v1.field).required = true];
  map<string, string> unrecognized = 2;
}

PROTO
awk -v count="$1" 'BEGIN {
  print "service ManyService {"
  for (i = 0; i < count; ++i) {
    kind = i % 2 ? "QUERY" : "SUBMIT"
    printf "  rpc Operation%d(Operation%dRequest) returns (ManyResponse) {\n", i, i
    printf "    option (stampgate.v1.operation) = {\n      kind: OPERATION_KIND_%s\n", kind
    printf "      path: \"/public/v1/%s/operation_%d\"\n", tolower(kind), i
    if (kind == "SUBMIT") printf "      activity_type: \"ACTIVITY_TYPE_OPERATION_%d\"\n", i
    print "    };\n  }"
  }
  print "}"
  for (i = 0; i < count; ++i) {
    printf "\nmessage Operation%dRequest {\n  optional uint64 timestamp_ms = 1;\n", i
    print "  string organization_id = 2 [(stampgate.v1.field).required = true];"
    print "  string name = 3 [(stampgate.v1.field).required = true];"
    print "  optional string idempotency_key = 14 [(stampgate.v1.field).role = FIELD_ROLE_IDEMPOTENCY_KEY];"
    print "  stampgate.v1.ClientStamp client_stamp = 15;\n}"
  }
}'
