// The numbers of the fields of events and of the responses that contain events.
#ifndef STAMPGATE_GATEWAY_FEED_EVENT_FIELDS_H_
#define STAMPGATE_GATEWAY_FEED_EVENT_FIELDS_H_

#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"

namespace stampgate {

// Each field number has the name of its field in the proto.
struct EventFields {
  // Finds the fields in `pool`. Errors: kFailedPrecondition if a field is missing or has another type, or if a message
  // has its events or its cursor in another field than the other messages that have one.
  static absl::StatusOr<EventFields> Find(const google::protobuf::DescriptorPool& pool);

  struct Response {
    int events = 0;  // in every response, and in Delivery and ParkedEvent
    int cursor = 0;  // in SubscribeResponse and ListEventsResponse
    int at_end = 0;  // in ListEventsResponse
  };
  struct Timestamp {
    int seconds = 0;
    int nanos = 0;
  };
  struct Signature {
    int key_id = 0;
    int timestamp_ms = 0;
    int signature = 0;
    int timestamp = 0;
  };
  struct Header {
    int name = 0;
    int value = 0;
  };
  struct Unrecognized {
    int key = 0;
    int value = 0;
  };

  Response response;
  Timestamp time;  // of google.protobuf.Timestamp
  Signature signature_fields;
  Header header;
  Unrecognized entry;

  // Of Event.
  int cursor = 0;
  int event_id = 0;
  int commit_time = 0;
  int type = 0;
  int organization_id = 0;
  int parent_organization_id = 0;
  int signature = 0;
  int headers = 0;
  int body = 0;
  int body_size_bytes = 0;
  int body_sha256 = 0;
  int body_omitted = 0;
  int decoded_omitted = 0;
  int decoded_omitted_reason = 0;
  int unrecognized = 0;

  // Values of DecodedOmittedReason.
  int too_large = 0;
  int not_a_json_object = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_FEED_EVENT_FIELDS_H_
