#include "base/secret/watched_file.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// A file system with one file. Its clock can step, as the system's clock can.
class FakeFile {
 public:
  std::optional<FileState> state() const {
    if (!exists_) return std::nullopt;
    return FileState{.target = absl::StrCat("/target", link_),
                     .device = 1,
                     .inode = inode_,
                     .size = static_cast<off_t>(text_.size()),
                     .modified = time_,
                     .changed = time_};
  }
  absl::StatusOr<std::string> Read() const {
    if (!exists_) return absl::NotFoundError("no file");
    return text_;
  }

  void Write(const std::string& text) {
    text_ = text;
    time_ = clock_;
  }
  void Rename(const std::string& text) {
    ++inode_;
    exists_ = true;
    Write(text);
  }
  void ChangeLink(const std::string& text) {
    ++link_;
    Rename(text);
  }
  void Touch() { time_ = clock_; }

  void Pass(nanoseconds time) { clock_ += time; }

 private:
  bool exists_ = true;
  int link_ = 0;
  ino_t inode_ = 1;
  std::string text_;
  nanoseconds time_ = {};
  nanoseconds clock_ = seconds(1'000'000);  // of the file system
};

// A watched file, and the clock by which it is looked at.
class Watcher {
 public:
  explicit Watcher(FakeFile& fake)
      : fake_(fake),
        file_(SettledFile("f", SettledFile::First::kAsFound, [&fake](const std::string&) { return fake.state(); }),
              [this](const std::string&) { return Read(); }) {}

  void Pass(nanoseconds time) {
    fake_.Pass(time);
    now_ += std::chrono::duration_cast<SettledFile::Time::duration>(time);
  }
  void Look(bool asked = false) { file_.Look(now_, asked); }
  absl::StatusOr<std::string> content() const { return *file_.content(); }
  const WatchedFile<std::string>& file() const { return file_; }

  absl::Status failure;  // of the next readings
  std::function<void()> while_reading = [] {};
  int readings = 0;

 private:
  absl::StatusOr<std::string> Read() {
    ++readings;
    absl::StatusOr<std::string> text = fake_.Read();
    while_reading();
    if (!failure.ok()) return failure;
    return text;
  }

  FakeFile& fake_;
  SettledFile::Time now_{};
  WatchedFile<std::string> file_;
};

TEST(WatchedFileTest, AWholeFileIsReadOnlyWhenItHasChanged) {
  FakeFile fake;
  fake.Write("one");
  Watcher watcher(fake);
  watcher.Look();
  EXPECT_EQ(watcher.content().value(), "one");
  for (int i = 0; i < 10; ++i) {
    watcher.Pass(seconds(2));
    watcher.Look();
  }
  EXPECT_EQ(watcher.readings, 2) << "once more when it is still";
  fake.Write("two");
  watcher.Look();
  EXPECT_EQ(watcher.content().value(), "one");
  watcher.Pass(seconds(2));
  watcher.Look();
  EXPECT_EQ(watcher.content().value(), "two");
  EXPECT_EQ(watcher.readings, 3);
}

TEST(WatchedFileTest, ContentThatChangesDuringTheReadingIsNotUsed) {
  FakeFile fake;
  fake.Write("one");
  Watcher watcher(fake);
  watcher.Look();
  watcher.while_reading = [&] {
    watcher.Pass(milliseconds(1));
    fake.Write("later");
  };
  fake.ChangeLink("half");
  watcher.Look();
  EXPECT_EQ(watcher.content().value(), "one");
  EXPECT_FALSE(watcher.file().is_whole());
  EXPECT_EQ(watcher.file().wait(), seconds(2));
}

// The reading itself can fail, for example because the process has no file descriptor left.
TEST(WatchedFileTest, AFailedReadingIsRepeatedUnlessTheContentIsTheFault) {
  for (const absl::Status& failure : {absl::UnavailableError("none left"), absl::InvalidArgumentError("line 2")}) {
    FakeFile fake;
    fake.Write("one");
    Watcher watcher(fake);
    watcher.failure = failure;
    watcher.Look();
    watcher.Pass(seconds(2));
    watcher.Look();
    EXPECT_EQ(watcher.content().status(), failure);
    watcher.failure = absl::OkStatus();
    watcher.Look();
    EXPECT_EQ(watcher.content().ok(), absl::IsUnavailable(failure)) << failure;
    watcher.Look(/*asked=*/true);
    EXPECT_TRUE(watcher.content().ok());
  }
}

// A random writer, which does everything that writers do to a file. The watcher looks at random moments. At no moment
// may it use a text that no writer meant.
class RandomWriter {
 public:
  RandomWriter(FakeFile& file, Watcher& watcher, uint64_t seed) : file_(file), watcher_(watcher), random_(seed) {
    file_.Write(NewText());
    watcher_.Look();
    Check();
  }

  void Act() {
    switch (Below(7)) {
      case 0:
      case 1:
        return WriteInPlace();
      case 2:
        return CrashHalfWay();
      case 3:
        file_.Rename(NewText());
        return LookAndPass();
      case 4:
        file_.ChangeLink(NewText());
        return LookAndPass();
      case 5:
        file_.Pass(seconds(static_cast<int64_t>(Below(7200)) - 3600));  // the system's clock steps
        return Pass(Milliseconds(4000));
      default:
        file_.Touch();
        return Pass(Milliseconds(60'000));
    }
  }

  // After a long silence, the watcher uses what the file has.
  void End() {
    Pass(seconds(31));
    watcher_.Look();
    Pass(seconds(31));
    watcher_.Look();
    EXPECT_EQ(watcher_.content().value(), file_.Read().value());
  }

 private:
  uint64_t Below(uint64_t end) { return random_() % end; }
  milliseconds Milliseconds(int64_t end) { return milliseconds(static_cast<int64_t>(Below(end))); }

  std::string NewText() {
    // Each text is at most a fifth shorter or longer than the next, and all are different.
    std::string text = absl::StrCat(whole_.size(), "\n");
    text.resize(800 + Below(200), static_cast<char>('a' + whole_.size() % 26));
    whole_.insert(text);
    return text;
  }

  void Check() {
    const absl::StatusOr<std::string> text = watcher_.content();
    ASSERT_TRUE(text.ok()) << text.status();
    ASSERT_TRUE(whole_.contains(*text)) << "a half-written file of " << text->size() << " bytes is in force";
  }

  // Another writer can begin in place at any time, but not before the watcher has looked: see SettledFile.
  void LookAndPass() {
    watcher_.Look();
    Check();
    Pass(Milliseconds(4000));
  }

  void Pass(nanoseconds time) {
    while (time.count() > 0) {
      const nanoseconds step = std::min<nanoseconds>(time, Milliseconds(700) + milliseconds(1));
      watcher_.Pass(step);
      time -= step;
      watcher_.Look(/*asked=*/false);
      Check();
    }
  }

  // Writes the first `size` bytes of `text` in place, for up to 8 seconds.
  void WriteSlowly(const std::string& text, size_t size) {
    file_.Write("");
    for (size_t written = 0; written < size;) {
      Pass(Milliseconds(1900));
      written = std::min(size, written + 1 + Below(size / 3 + 1));
      file_.Write(text.substr(0, written));
    }
  }

  void WriteInPlace() {
    const std::string text = NewText();
    WriteSlowly(text, text.size());
    Pass(Milliseconds(6000));
  }

  // The writer stops in the middle, and another one repairs the file before 30 seconds are over.
  void CrashHalfWay() {
    WriteSlowly(NewText(), Below(650));
    Pass(seconds(18) + Milliseconds(8000));
    WriteInPlace();
    Pass(seconds(2));
  }

  FakeFile& file_;
  Watcher& watcher_;
  std::mt19937_64 random_;
  std::set<std::string> whole_;
};

TEST(WatchedFileTest, NoHalfWrittenContentIsUsedWhateverWritersDo) {
  const int rounds = std::getenv("STAMPGATE_LONG") != nullptr ? 100'000 : 500;
  for (int seed = 0; seed < rounds && !::testing::Test::HasFailure(); ++seed) {
    FakeFile file;
    Watcher watcher(file);
    RandomWriter writer(file, watcher, static_cast<uint64_t>(seed));
    for (int i = 0; i < 20 && !::testing::Test::HasFailure(); ++i) writer.Act();
    writer.End();
    EXPECT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stampgate
