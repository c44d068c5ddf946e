// Tests the responses of the receiver to requests with valid, invalid or incomplete framing.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/http/test_client.h"
#include "base/loop/event_loops.h"
#include "base/threads/mutex.h"
#include "webhooks/receiver/receiver.h"

namespace stampgate {
namespace {

struct Case {
  const char* name;
  std::string bytes;
  // The responses in the form of Statuses(), or an empty text if the receiver closes the connection without a response.
  // The client closes its sending side after `bytes`.
  const char* answers;
  std::vector<std::string> bodies = {};
};

// Replaces each ^ by CR LF, so that the table is short.
std::string Lines(const char* text) { return absl::StrReplaceAll(text, {{"^", "\r\n"}}); }

// Replaces each ^ by CR LF, and each @ by a NUL byte.
std::string WithNul(const char* text) {
  std::string bytes = Lines(text);
  for (char& c : bytes) {
    if (c == '@') c = '\0';
  }
  return bytes;
}

std::string ManyFields(int count) {
  std::string bytes = Lines("POST /hook HTTP/1.1^Host: h^");
  for (int i = 1; i < count; ++i) absl::StrAppend(&bytes, "A", i, ": b\r\n");
  return bytes + "\r\n";
}

// Returns a request head of exactly `bytes` bytes.
std::string HeadOf(size_t bytes) {
  const std::string start = Lines("POST /hook HTTP/1.1^Host: h^A: ");
  return start + std::string(bytes - start.size() - 4, 'a') + "\r\n\r\n";
}

const std::vector<Case>& Cases() {
  static const auto* const cases = new std::vector<Case>{
      // Valid requests.
      {"a length", Lines("POST /hook HTTP/1.1^Host: h^Content-Length: 3^^abc"), "200", {"abc"}},
      {"a length of zero", Lines("POST /hook HTTP/1.1^Host: h^Content-Length: 0^^"), "200", {""}},
      {"no length: no body", Lines("POST /hook HTTP/1.1^Host: h^^"), "200", {""}},
      {"a length with zeros before it", Lines("POST /hook HTTP/1.1^Host: h^Content-Length: 003^^abc"), "200", {"abc"}},
      {"chunks", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^3^abc^2^de^0^^"), "200", {"abcde"}},
      {"no chunk", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^0^^"), "200", {""}},
      {"names without case", Lines("POST /hook HTTP/1.1^hOST: h^cONTENT-lENGTH: 1^^a"), "200", {"a"}},
      {"chunked without case", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: CHUNKED^^0^^"), "200", {""}},
      {"blanks around a value", Lines("POST /hook HTTP/1.1^Host: h^Content-Length: \t 1 \t^^a"), "200", {"a"}},
      {"no blank before a value", Lines("POST /hook HTTP/1.1^Host:h^Content-Length:1^^a"), "200", {"a"}},
      {"asked to close", Lines("POST /hook HTTP/1.1^Host: h^Connection: foo, Close^^"), "200.", {""}},

      // More than one length.
      {"length and chunks", Lines("POST /hook HTTP/1.1^Host: h^Content-Length: 5^Transfer-Encoding: chunked^^0^^"),
       "400."},
      {"chunks and length", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^Content-Length: 5^^0^^"),
       "400."},
      {"two lengths", Lines("POST /hook HTTP/1.1^Host: h^Content-Length: 1^Content-Length: 2^^ab"), "400."},
      {"the same length twice", Lines("POST /hook HTTP/1.1^Host: h^Content-Length: 1^Content-Length: 1^^a"), "400."},
      {"a list of lengths", Lines("POST /hook HTTP/1.1^Host: h^Content-Length: 1, 1^^a"), "400."},
      {"two codings", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: gzip, chunked^^0^^"), "503."},
      {"chunked twice", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^Transfer-Encoding: chunked^^0^^"),
       "400."},
      {"an unknown coding", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: xchunked^^0^^"), "503."},
      {"identity", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: identity^Content-Length: 1^^a"), "503."},
      {"an empty coding", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding:^^"), "503."},
      {"a quoted coding", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: \"chunked\"^^0^^"), "503."},
      {"a coding with a vertical tab", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: \vchunked^^0^^"), "503."},
      {"chunks in HTTP/1.0", Lines("POST /hook HTTP/1.0^Transfer-Encoding: chunked^^0^^"), "400."},

      // Invalid lengths.
      {"a negative length", Lines("POST /hook HTTP/1.1^Host: h^Content-Length: -1^^"), "400."},
      {"a length with a plus", Lines("POST /hook HTTP/1.1^Host: h^Content-Length: +1^^a"), "400."},
      {"a hexadecimal length", Lines("POST /hook HTTP/1.1^Host: h^Content-Length: 0x1^^a"), "400."},
      {"an empty length", Lines("POST /hook HTTP/1.1^Host: h^Content-Length:^^"), "400."},
      {"a length of two words", Lines("POST /hook HTTP/1.1^Host: h^Content-Length: 1 1^^a"), "400."},
      {"a length of 2^64", Lines("POST /hook HTTP/1.1^Host: h^Content-Length: 18446744073709551616^^a"), "400."},
      {"a length of 2^64 + 1", Lines("POST /hook HTTP/1.1^Host: h^Content-Length: 18446744073709551617^^a"), "400."},
      {"a length of 100 digits",
       Lines("POST /hook HTTP/1.1^Host: h^Content-Length: ") + std::string(100, '9') + "\r\n\r\n", "400."},
      {"a length over the limit", Lines("POST /hook HTTP/1.1^Host: h^Content-Length: 1001^^"), "413."},

      // Line ends and bytes.
      {"bare LF everywhere", "POST /hook HTTP/1.1\nHost: h\n\n", "400."},
      {"bare LF after a field", "POST /hook HTTP/1.1\r\nHost: h\nA: b\r\n\r\n", "400."},
      {"bare LF at the end of the request head", "POST /hook HTTP/1.1\r\nHost: h\r\n\n", "400."},
      {"bare CR in a value", "POST /hook HTTP/1.1\r\nHost: h\rA: b\r\n\r\n", "400."},
      {"CR twice", "POST /hook HTTP/1.1\r\r\nHost: h\r\n\r\n", "400."},
      {"an empty line first", Lines("^POST /hook HTTP/1.1^Host: h^^"), "400."},
      {"a folded line", Lines("POST /hook HTTP/1.1^Host: h^A: b^ c^^"), "400."},
      {"a line folded with a tab", Lines("POST /hook HTTP/1.1^Host: h^A: b^\tc^^"), "400."},
      {"a folded coding", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding:^ chunked^^0^^"), "503."},
      {"a blank before the first field", Lines("POST /hook HTTP/1.1^ Host: h^^"), "400."},
      {"a blank before the colon", Lines("POST /hook HTTP/1.1^Host: h^Content-Length : 1^^a"), "400."},
      {"a tab before the colon", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding\t: chunked^^0^^"), "400."},
      {"NUL in a name", WithNul("POST /hook HTTP/1.1^Host: h^A@B: c^^"), "400."},
      {"NUL in a value", WithNul("POST /hook HTTP/1.1^Host: h^A: b@c^^"), "400."},
      {"NUL in the target", WithNul("POST /hook@ HTTP/1.1^Host: h^^"), "400."},
      {"a control byte in a value", Lines("POST /hook HTTP/1.1^Host: h^A: b\x01^^"), "400."},
      {"DEL in a value", Lines("POST /hook HTTP/1.1^Host: h^A: b\x7f^^"), "400."},
      {"eight bits in a name", Lines("POST /hook HTTP/1.1^Host: h^\xc3\xa4: b^^"), "400."},
      {"eight bits in a value", Lines("POST /hook HTTP/1.1^Host: h^A: \xc3\xa4^^"), "200", {""}},
      {"eight bits in the target", Lines("POST /hook\xc3\xa4 HTTP/1.1^Host: h^^"), "404."},
      {"a separator in a name", Lines("POST /hook HTTP/1.1^Host: h^A(b): c^^"), "400."},
      {"a field without a colon", Lines("POST /hook HTTP/1.1^Host: h^A^^"), "400."},
      {"a field without a name", Lines("POST /hook HTTP/1.1^Host: h^: b^^"), "400."},
      {"an empty value", Lines("POST /hook HTTP/1.1^Host: h^A:^^"), "200", {""}},

      // Sizes.
      {"64 fields", ManyFields(64), "200", {""}},
      {"65 fields", ManyFields(65), "503."},
      {"a request head at the limit", HeadOf(16 << 10), "200", {""}},
      {"a request head one byte over the limit", HeadOf((16 << 10) + 1), "503."},
      {"a request head two bytes over the limit", HeadOf((16 << 10) + 2), "503."},
      {"a request head that never ends", std::string(100000, 'a'), "503."},
      {"a field that never ends", Lines("POST /hook HTTP/1.1^A: ") + std::string(100000, 'a'), "503."},
      {"a long target", absl::StrCat("POST /", std::string(8000, 'a'), Lines(" HTTP/1.1^Host: h^^")), "404."},

      // Chunks.
      {"an extension",
       Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^3;a=b;c=\"d\"^abc^0;e^^"),
       "200",
       {"abc"}},
      {"an extension after blanks",
       Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^3 ;a^abc^0^^"),
       "200",
       {"abc"}},
      {"an extension with a bare LF", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^3;a\nabc^0^^"),
       "400."},
      {"an extension that never ends",
       Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^3;") + std::string(20000, 'a'), "503."},
      {"a size that is no number", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^g^abc^0^^"), "400."},
      {"an empty size", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^^abc^0^^"), "400."},
      {"a size with 0x", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^0x3^abc^0^^"), "400."},
      {"a negative size", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^-3^abc^0^^"), "400."},
      {"a blank before a size", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^ 3^abc^0^^"), "400."},
      {"a blank after a size", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^3 ^abc^0^^"), "400."},
      {"a size of 17 digits",
       Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^10000000000000003^abc^0^^"), "400."},
      {"a size of 2^64 - 1", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^FFFFFFFFFFFFFFFF^abc^0^^"),
       "413."},
      {"a size over the limit", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^3e9^"), "413."},
      {"sizes over the limit together",
       absl::StrCat(Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^3e8^"), std::string(1000, 'a'),
                    Lines("^1^")),
       "413."},
      {"data longer than its size", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^3^abcd^0^^"),
       "400."},
      {"a bare LF after a chunk", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^3^abc\n0^^"), "400."},
      {"a trailer is not a header",
       Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^3^abc^0^X-Service-Signature: a^^"),
       "200",
       {"abc"}},
      {"a trailer that is a length, which has no effect",
       Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^0^Content-Length: 5^^"),
       "200",
       {""}},
      {"a folded trailer", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^0^A: b^ c^^"), "200", {""}},
      {"a trailer with a bare LF", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^0^A: b\n^^"), "400."},

      // Incomplete requests.
      {"nothing", "", ""},
      {"a cut method", "PO", ""},
      {"a cut request line", "POST /hook HTTP/1.1\r", ""},
      {"a cut name", Lines("POST /hook HTTP/1.1^Ho"), ""},
      {"a cut end of the request head", Lines("POST /hook HTTP/1.1^Host: h^\r"), ""},
      {"no body", Lines("POST /hook HTTP/1.1^Host: h^Content-Length: 3^^"), ""},
      {"a cut body", Lines("POST /hook HTTP/1.1^Host: h^Content-Length: 3^^ab"), ""},
      {"a cut size", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^3"), ""},
      {"a cut chunk", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^3^ab"), ""},
      {"a cut end of a chunk", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^3^abc\r"), ""},
      {"no last chunk", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^3^abc^"), ""},
      {"a cut trailer", Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^3^abc^0^A: b^"), ""},

      // Versions and request lines.
      {"HTTP/1.0", Lines("POST /hook HTTP/1.0^Content-Length: 1^^a"), "200.", {"a"}},
      {"HTTP/1.0, kept", Lines("POST /hook HTTP/1.0^Connection: keep-alive^Content-Length: 1^^a"), "200", {"a"}},
      {"HTTP/0.9", Lines("GET /hook^"), "400."},
      {"HTTP/2's preface", Lines("PRI * HTTP/2.0^^SM^^"), "503."},
      {"HTTP/1.2", Lines("POST /hook HTTP/1.2^Host: h^^"), "503."},
      {"HTTP/11", Lines("POST /hook HTTP/11^Host: h^^"), "400."},
      {"http/1.1", Lines("POST /hook http/1.1^Host: h^^"), "400."},
      {"two blanks before the target", Lines("POST  /hook HTTP/1.1^Host: h^^"), "400."},
      {"two blanks after the target", Lines("POST /hook  HTTP/1.1^Host: h^^"), "400."},
      {"a blank after the version", Lines("POST /hook HTTP/1.1 ^Host: h^^"), "400."},
      {"a tab for a blank", Lines("POST\t/hook\tHTTP/1.1^Host: h^^"), "400."},
      {"a blank in the target", Lines("POST /ho ok HTTP/1.1^Host: h^^"), "400."},
      {"no target", Lines("POST HTTP/1.1^Host: h^^"), "400."},
      {"no method", Lines(" /hook HTTP/1.1^Host: h^^"), "400."},
      {"no host", Lines("POST /hook HTTP/1.1^^"), "400."},
      {"two hosts", Lines("POST /hook HTTP/1.1^Host: h^Host: h^^"), "400."},
      {"TLS to a plain port", WithNul("\x16\x03\x01@\xa5\x01@@\xa1\x03\x03"), "400."},

      // Methods and targets.
      {"GET", Lines("GET /hook HTTP/1.1^Host: h^^"), "405."},
      {"HEAD", Lines("HEAD /hook HTTP/1.1^Host: h^^"), "405."},
      {"post", Lines("post /hook HTTP/1.1^Host: h^^"), "405."},
      {"CONNECT", Lines("CONNECT h:443 HTTP/1.1^Host: h^^"), "404."},
      {"OPTIONS *", Lines("OPTIONS * HTTP/1.1^Host: h^^"), "404."},

      // Expect.
      {"100-continue", Lines("POST /hook HTTP/1.1^Host: h^Expect: 100-continue^Content-Length: 0^^"), "200", {""}},
      {"100-continue in HTTP/1.0",
       Lines("POST /hook HTTP/1.0^Expect: 100-continue^Content-Length: 1^^a"),
       "200.",
       {"a"}},
      {"100-continue to nowhere", Lines("POST /x HTTP/1.1^Host: h^Expect: 100-continue^Content-Length: 1^^"), "404."},
      {"100-continue with too much", Lines("POST /hook HTTP/1.1^Host: h^Expect: 100-continue^Content-Length: 1001^^"),
       "413."},
      {"another expectation", Lines("POST /hook HTTP/1.1^Host: h^Expect: 200-ok^Content-Length: 1^^a"), "200", {"a"}},

      // Pipelining.
      {"two requests",
       Lines("POST /hook HTTP/1.1^Host: h^Content-Length: 1^^aPOST /hook HTTP/1.1^Host: h^Content-Length: 1^^b"),
       "200 200",
       {"a", "b"}},
      {"a chunked one and another",
       Lines("POST /hook HTTP/1.1^Host: h^Transfer-Encoding: chunked^^1^a^0^^POST /hook HTTP/1.1^Host: h^^"),
       "200 200",
       {"a", ""}},
      {"one and a broken one",
       Lines("POST /hook HTTP/1.1^Host: h^Content-Length: 1^^aPOST /hook HTTP/1.1\nHost: h^^"),
       "200 400.",
       {"a"}},
      {"nothing is read after a close",
       Lines("POST /hook HTTP/1.1^Host: h^Connection: close^^POST /hook HTTP/1.1^^"),
       "200.",
       {""}},
      {"bytes after a refused request head are ignored",
       Lines("POST /x HTTP/1.1^Host: h^Content-Length: 38^^POST /hook HTTP/1.1^Host: h^^"), "404."},
      {"a body that looks like a request",
       Lines("POST /hook HTTP/1.1^Host: h^Content-Length: 33^^POST /hook HTTP/1.1^Host: hh^^"),
       "200",
       {Lines("POST /hook HTTP/1.1^Host: hh^^")}},
  };
  return *cases;
}

// A fixture with a receiver that accepts all deliveries and keeps their bodies.
class FramingTest : public testing::Test {
 protected:
  void SetUp() override {
    ReceiverOptions options;
    options.listen_address = "127.0.0.1:0";
    options.paths = [] { return std::vector<std::string>{"/hook"}; };
    options.max_body_bytes = 1000;
    options.on_refused = [this](HttpRefusal refusal) {
      MutexLock lock(mutex_);
      refusals_.push_back(refusal);
    };
    auto receiver = Receiver::Start(options, std::make_shared<EventLoops>(2), [this](Delivery delivery, Answer answer) {
      for (const HeaderField& field : delivery.headers) {
        EXPECT_NE(field.name, "X-Service-Signature") << "only a trailer field has this name";
      }
      {
        MutexLock lock(mutex_);
        bodies_.push_back(std::move(delivery.body));
      }
      answer(200);
    });
    ASSERT_TRUE(receiver.ok()) << receiver.status();
    receiver_ = *std::move(receiver);
  }

  std::vector<std::string> TakeBodies() {
    MutexLock lock(mutex_);
    return std::exchange(bodies_, {});
  }

  // Returns the reported refusals as statuses, such as "404." for one refusal, and clears them.
  std::string TakeRefusals() {
    MutexLock lock(mutex_);
    std::string statuses;
    for (const HttpRefusal refusal : std::exchange(refusals_, {})) absl::StrAppend(&statuses, HttpStatus(refusal), ".");
    return statuses;
  }

  Mutex mutex_;
  std::vector<std::string> bodies_ ABSL_GUARDED_BY(mutex_);
  std::vector<HttpRefusal> refusals_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Receiver> receiver_;
};

TEST_F(FramingTest, RespondsAsTheTableOfCasesStates) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    HttpTestClient client(receiver_->url());
    client.Send(c.bytes);
    client.EndSending();
    EXPECT_EQ(Statuses(client.ReadToEnd()), c.answers);
    EXPECT_EQ(TakeBodies(), c.bodies);
  }
}

TEST_F(FramingTest, ReportsEveryRefusal) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    HttpTestClient client(receiver_->url());
    client.Send(c.bytes);
    client.EndSending();
    std::string refused;
    const std::string answers = Statuses(client.ReadToEnd());
    for (const absl::string_view status : absl::StrSplit(answers, ' ', absl::SkipEmpty())) {
      if (status.substr(0, 3) != "200") absl::StrAppend(&refused, status);
    }
    EXPECT_EQ(TakeRefusals(), refused);
  }
}

TEST_F(FramingTest, RespondsTheSameIfBytesArriveOneByOne) {
  for (const Case& c : Cases()) {
    if (c.bytes.size() > 2000) continue;
    SCOPED_TRACE(c.name);
    HttpTestClient client(receiver_->url());
    for (const char byte : c.bytes) {
      if (!client.Send(absl::string_view(&byte, 1))) break;
    }
    client.EndSending();
    EXPECT_EQ(Statuses(client.ReadToEnd()), c.answers);
    EXPECT_EQ(TakeBodies(), c.bodies);
  }
}

TEST_F(FramingTest, RespondsWithValidHttpToRandomlyChangedRequests) {
  std::mt19937 random(20250101);
  const auto below = [&random](size_t bound) { return random() % bound; };
  std::vector<std::string> seeds;
  for (const Case& c : Cases()) {
    if (c.bytes.size() < 2000) seeds.push_back(c.bytes);
  }
  constexpr char kInteresting[] = "\r\n\0 \t:;,0fF\x80\xff";
  const std::string interesting(kInteresting, sizeof(kInteresting) - 1);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = seeds[below(seeds.size())];
    for (size_t edits = below(4); edits > 0 && !bytes.empty(); --edits) {
      const size_t at = below(bytes.size());
      switch (below(5)) {
        case 0:
          bytes[at] = interesting[below(interesting.size())];
          break;
        case 1:
          bytes.insert(at, 1, interesting[below(interesting.size())]);
          break;
        case 2:
          bytes.erase(at, 1 + below(4));
          break;
        case 3:
          bytes.insert(at, bytes.substr(below(bytes.size()), below(40)));
          break;
        case 4: {
          const std::string& other = seeds[below(seeds.size())];
          bytes = bytes.substr(0, at) + other.substr(below(other.size() + 1));
          break;
        }
      }
    }
    HttpTestClient client(receiver_->url());
    client.Send(bytes);
    client.EndSending();
    ASSERT_NE(Statuses(client.ReadToEnd()), "not a response") << i << ": " << testing::PrintToString(bytes);
  }
  TakeBodies();
  HttpTestClient honest(receiver_->url());
  honest.Send(Lines("POST /hook HTTP/1.1^Host: h^Content-Length: 3^^abc"));
  EXPECT_EQ(Statuses(honest.ReadAnswer()), "200");
  EXPECT_EQ(TakeBodies(), std::vector<std::string>{"abc"});
}

}  // namespace
}  // namespace stampgate
