#include "gateway/commands/subscription_commands.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>

#include "absl/functional/function_ref.h"
#include "absl/status/status_macros.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gateway/commands/exit_status.h"

namespace stampgate {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int kExitNotParked = 3;
constexpr size_t kMaxCursors = 1000;  // of a request

using Row = std::vector<std::string>;

const FieldDescriptor& FieldOf(const Message& message, const std::string& name) {
  return *message.GetDescriptor()->FindFieldByName(name);
}

std::vector<const Message*> MessagesOf(const Message& message, const std::string& name) {
  std::vector<const Message*> messages;
  const FieldDescriptor& field = FieldOf(message, name);
  for (int i = 0; i < message.GetReflection()->FieldSize(message, &field); ++i) {
    messages.push_back(&message.GetReflection()->GetRepeatedMessage(message, &field, i));
  }
  return messages;
}

std::vector<std::string> TextsOf(const Message& message, const std::string& name) {
  std::vector<std::string> texts;
  const FieldDescriptor& field = FieldOf(message, name);
  for (int i = 0; i < message.GetReflection()->FieldSize(message, &field); ++i) {
    texts.push_back(message.GetReflection()->GetRepeatedString(message, &field, i));
  }
  return texts;
}

const Message& MessageOf(const Message& message, const std::string& name) {
  return message.GetReflection()->GetMessage(message, &FieldOf(message, name));
}

absl::Time TimeOf(const Message& timestamp) {
  const google::protobuf::Reflection& reflection = *timestamp.GetReflection();
  return absl::FromUnixSeconds(reflection.GetInt64(timestamp, &FieldOf(timestamp, "seconds"))) +
         absl::Nanoseconds(reflection.GetInt32(timestamp, &FieldOf(timestamp, "nanos")));
}

// Returns the value of a field that is a text, a number or a time: "-" for an empty text and for a time that is not
// set. Consumers choose some texts, so control characters are escaped.
std::string Value(const Message& message, const FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    const std::string text = absl::Utf8SafeCEscape(reflection.GetString(message, &field));
    return text.empty() ? "-" : text;
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    if (!reflection.HasField(message, &field)) return "-";
    return absl::FormatTime(absl::RFC3339_sec, TimeOf(reflection.GetMessage(message, &field)), absl::UTCTimeZone());
  }
  std::string number;
  google::protobuf::TextFormat::PrintFieldValueToString(message, &field, -1, &number);
  return number;
}

std::string Value(const Message& message, const std::string& name) { return Value(message, FieldOf(message, name)); }

// Returns the rows as lines with columns of the same width.
std::string Table(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      absl::StrAppend(&text, row[i], std::string(widths[i] - row[i].size() + 2, ' '));
    }
    absl::StrAppend(&text, row.back(), "\n");
  }
  return text;
}

std::string Describe(const Message& subscription) {
  std::vector<Row> rows;
  for (int i = 0; i < subscription.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *subscription.GetDescriptor()->field(i);
    rows.push_back({std::string(field.name()), Value(subscription, field)});
  }
  return Table(rows);
}

// Returns a field of a request, in the text format of Protocol Buffers.
std::string Text(const char* field, const std::string& value) {
  return absl::StrCat(field, ": \"", absl::CEscape(value), "\" ");
}

std::string Named(const std::string& name) { return Text("subscription", name); }

// Calls `on_page` with each page of the parked events.
absl::Status ForEachPage(GatewayClient& client, const std::string& name,
                         absl::FunctionRef<void(const Message& page)> on_page) {
  for (std::string start;;) {
    const std::string request = absl::StrCat(Named(name), "page_size: ", kMaxCursors, " ", start);
    ABSL_ASSIGN_OR_RETURN(const GatewayClient::Response page, client.Call("SubscriptionService/ListParked", request));
    on_page(*page);
    if (page->GetReflection()->GetBool(*page, &FieldOf(*page, "at_end"))) return absl::OkStatus();
    start = Text("cursor", Value(*page, "cursor"));
  }
}

absl::StatusOr<std::vector<std::string>> CursorsOfAll(GatewayClient& client, const std::string& name) {
  std::vector<std::string> cursors;
  ABSL_RETURN_IF_ERROR(ForEachPage(client, name, [&cursors](const Message& page) {
    for (const Message* parked : MessagesOf(page, "parked_events")) {
      cursors.push_back(Value(MessageOf(*parked, "event"), "cursor"));
    }
  }));
  return cursors;
}

// Calls `method` for the parked events with these cursors. `done` is what the gateway has then done with them.
absl::StatusOr<ParkedReport> ChangeParked(const GatewayAddress& gateway, const char* method, const char* done,
                                          const std::string& name, std::vector<std::string> cursors) {
  ABSL_ASSIGN_OR_RETURN(GatewayClient client, GatewayClient::Create(gateway));
  if (cursors == std::vector<std::string>{"all"}) {
    ABSL_ASSIGN_OR_RETURN(cursors, CursorsOfAll(client, name));
  }
  size_t changed = 0;
  ParkedReport report;
  for (absl::Span<const std::string> rest = cursors; !rest.empty();) {
    const absl::Span<const std::string> some = rest.subspan(0, kMaxCursors);
    rest.remove_prefix(some.size());
    std::string request = Named(name);
    for (const std::string& cursor : some) request += Text("cursors", cursor);
    ABSL_ASSIGN_OR_RETURN(const GatewayClient::Response response, client.Call(method, request));
    const std::vector<std::string> not_parked = TextsOf(*response, "not_parked_cursors");
    for (const std::string& cursor : not_parked) absl::StrAppend(&report.text, "not parked: ", cursor, "\n");
    changed += some.size() - not_parked.size();
  }
  report.all_were_parked = changed == cursors.size();
  absl::StrAppend(&report.text, done, ": ", changed, "\n");
  return report;
}

std::string PlaceOf(const std::string& text) {
  if (text == "earliest") return "end: LOG_END_EARLIEST";
  if (text == "latest") return "end: LOG_END_LATEST";
  absl::Time time;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, nullptr)) return Text("cursor", text);
  const int64_t seconds = absl::ToUnixSeconds(time);
  const int64_t nanos = absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds));
  return absl::StrCat("time { seconds: ", seconds, " nanos: ", nanos, " }");
}

// Calls a method about the subscription `name`. Returns the state in the response.
absl::StatusOr<std::string> DescribeAfter(const GatewayAddress& gateway, const char* method, const std::string& name,
                                          const std::string& rest = "") {
  ABSL_ASSIGN_OR_RETURN(GatewayClient client, GatewayClient::Create(gateway));
  ABSL_ASSIGN_OR_RETURN(const GatewayClient::Response response, client.Call(method, Named(name) + rest));
  return Describe(MessageOf(*response, "subscription"));
}

}  // namespace

absl::StatusOr<std::string> ListSubscriptionsOf(const GatewayAddress& gateway) {
  ABSL_ASSIGN_OR_RETURN(GatewayClient client, GatewayClient::Create(gateway));
  ABSL_ASSIGN_OR_RETURN(const GatewayClient::Response response,
                        client.Call("SubscriptionService/ListSubscriptions", ""));
  const Row columns = {"name", "events_behind", "oldest_unsettled_time", "unsettled", "parked", "consumers"};
  std::vector<Row> rows = {columns};
  for (const Message* subscription : MessagesOf(*response, "subscriptions")) {
    Row& row = rows.emplace_back();
    for (const std::string& column : columns) row.push_back(Value(*subscription, column));
  }
  std::string text = Table(rows);
  for (const std::string& name : TextsOf(*response, "undeclared_names")) {
    absl::StrAppend(&text, name, ": not declared in the config; the gateway keeps its state until it is deleted\n");
  }
  return text;
}

absl::StatusOr<std::string> ShowSubscriptionOf(const GatewayAddress& gateway, const std::string& name) {
  return DescribeAfter(gateway, "SubscriptionService/GetSubscription", name);
}

absl::StatusOr<std::string> ListParkedOf(const GatewayAddress& gateway, const std::string& name) {
  ABSL_ASSIGN_OR_RETURN(GatewayClient client, GatewayClient::Create(gateway));
  std::vector<Row> rows = {{"cursor", "event_id", "type", "delivery_count", "park_time", "reason"}};
  ABSL_RETURN_IF_ERROR(ForEachPage(client, name, [&rows](const Message& page) {
    for (const Message* parked : MessagesOf(page, "parked_events")) {
      const Message& event = MessageOf(*parked, "event");
      rows.push_back({Value(event, "cursor"), Value(event, "event_id"), Value(event, "type"),
                      Value(*parked, "delivery_count"), Value(*parked, "park_time"), Value(*parked, "reason")});
    }
  }));
  return Table(rows);
}

absl::StatusOr<ParkedReport> RetryParkedOf(const GatewayAddress& gateway, const std::string& name,
                                           const std::vector<std::string>& cursors) {
  return ChangeParked(gateway, "SubscriptionService/RetryParked", "returned to the subscription", name, cursors);
}

absl::StatusOr<ParkedReport> SkipParkedOf(const GatewayAddress& gateway, const std::string& name,
                                          const std::vector<std::string>& cursors) {
  return ChangeParked(gateway, "SubscriptionService/SkipParked", "removed from the subscription", name, cursors);
}

absl::StatusOr<std::string> SeekSubscriptionOf(const GatewayAddress& gateway, const std::string& name,
                                               const std::string& place) {
  return DescribeAfter(gateway, "SubscriptionService/Seek", name, PlaceOf(place));
}

absl::StatusOr<std::string> DeleteSubscriptionOf(const GatewayAddress& gateway, const std::string& name) {
  ABSL_ASSIGN_OR_RETURN(GatewayClient client, GatewayClient::Create(gateway));
  ABSL_RETURN_IF_ERROR(client.Call("SubscriptionService/DeleteSubscription", Named(name)).status());
  return absl::StrCat("deleted: ", name, "\n");
}

int PrintParkedReport(const absl::StatusOr<ParkedReport>& report) {
  if (!report.ok()) return Fail(report.status());
  std::cout << report->text;
  return report->all_were_parked ? 0 : kExitNotParked;
}

}  // namespace stampgate
