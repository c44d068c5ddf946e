#include "translate/wire/field_numbers.h"

#include <gtest/gtest.h>

#include "google/protobuf/type.pb.h"

namespace stampgate {
namespace {

using google::protobuf::FieldDescriptor;

class FieldNumbersTest : public ::testing::Test {
 protected:
  FieldNumbers numbers_{*google::protobuf::Type::descriptor()->file()->pool()};
};

TEST_F(FieldNumbersTest, FindsFieldsAndEnumValuesByName) {
  EXPECT_EQ(numbers_.One("google.protobuf.Type.name", FieldDescriptor::TYPE_STRING), 1);
  EXPECT_EQ(numbers_.List("google.protobuf.Type.oneofs", FieldDescriptor::TYPE_STRING), 3);
  EXPECT_EQ(numbers_.EnumValue("google.protobuf.SYNTAX_PROTO3"), 1);
  EXPECT_TRUE(numbers_.status().ok());
}

TEST_F(FieldNumbersTest, RefusesAFieldThatDoesNotExist) {
  EXPECT_EQ(numbers_.One("google.protobuf.Type.colour", FieldDescriptor::TYPE_STRING), 0);
  EXPECT_EQ(numbers_.status(),
            absl::FailedPreconditionError("google.protobuf.Type.colour is not a field of the protos"));
  // Keeps the first error.
  EXPECT_EQ(numbers_.EnumValue("google.protobuf.SYNTAX_PROTO9"), 0);
  EXPECT_EQ(numbers_.status(),
            absl::FailedPreconditionError("google.protobuf.Type.colour is not a field of the protos"));
}

TEST_F(FieldNumbersTest, RefusesAFieldOfAnotherType) {
  EXPECT_EQ(numbers_.One("google.protobuf.Type.name", FieldDescriptor::TYPE_BYTES), 0);
  EXPECT_EQ(numbers_.status(),
            absl::FailedPreconditionError("google.protobuf.Type.name does not have the type that the program needs"));
}

TEST_F(FieldNumbersTest, RefusesAListWhereOneValueIsExpected) {
  EXPECT_EQ(numbers_.One("google.protobuf.Type.oneofs", FieldDescriptor::TYPE_STRING), 0);
  EXPECT_EQ(numbers_.status(), absl::FailedPreconditionError("google.protobuf.Type.oneofs is a list"));
}

TEST_F(FieldNumbersTest, RefusesOneValueWhereAListIsExpected) {
  EXPECT_EQ(numbers_.List("google.protobuf.Type.name", FieldDescriptor::TYPE_STRING), 0);
  EXPECT_EQ(numbers_.status(), absl::FailedPreconditionError("google.protobuf.Type.name is not a list"));
}

TEST_F(FieldNumbersTest, RefusesAnEnumValueThatDoesNotExist) {
  EXPECT_EQ(numbers_.EnumValue("google.protobuf.SYNTAX_PROTO9"), 0);
  EXPECT_EQ(numbers_.status(),
            absl::FailedPreconditionError("google.protobuf.SYNTAX_PROTO9 is not an enum value of the protos"));
}

}  // namespace
}  // namespace stampgate
