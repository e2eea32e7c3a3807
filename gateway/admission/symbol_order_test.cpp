#include "gateway/admission/symbol_order.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/protocol.h"

namespace perfleet {
namespace symbol_order_test {

constexpr auto kType = static_cast<std::uint16_t>(protocol::ImageType::kElfSymbols);

class SymbolOrder : public testing::Test {
protected:
    void TearDown() override { std::filesystem::remove(path_); }
    std::string path_ = testing::TempDir() + "symbol_order_" + std::to_string(::getpid());

    ErrorCode refusal() const {
        const auto read = read_ordered_symbols(order_of_symbols("\xab\xcd", kType, path_));
        EXPECT_FALSE(read.ok());
        return read.ok() ? ErrorCode{} : read.error().code;
    }
};

TEST_F(SymbolOrder, TravelsAsAMessage) {
    const OperatorRequest request{3, order_of_symbols("\xab\x01", kType, "/a path/with blanks")};
    EXPECT_EQ(request.order.event, "ab01 /a path/with blanks");
    const auto read = decode_operator_request(encode_operator_request(request));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(*read, request);
}

TEST_F(SymbolOrder, AFileThatIsNoneOrHoldsNoSymbolsIsRefused) {
    EXPECT_EQ(refusal(), ErrorCode::kNotFound);
    std::ofstream{path_} << "no symbols";
    EXPECT_EQ(refusal(), ErrorCode::kInvalid);
    std::filesystem::resize_file(path_, limits::kImageSizeBytesMax + 1);
    EXPECT_EQ(refusal(), ErrorCode::kTooLarge);
    std::filesystem::remove(path_);
    ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    EXPECT_EQ(refusal(), ErrorCode::kInvalid) << "nobody waits for a writer";
}

TEST_F(SymbolOrder, WithoutABuildIdOrAFileIsRefused) {
    for (const char* const event : {"", "ab", "abc /file", "xy /file", " /file"}) {
        OperatorCommand order;
        order.edit = SessionEdit::kKeepSymbols;
        order.value = kType;
        order.event = event;
        const auto read = read_ordered_symbols(order);
        ASSERT_FALSE(read.ok()) << event;
        EXPECT_EQ(read.error().code, ErrorCode::kInvalid) << event;
    }
}

}  // namespace symbol_order_test
}  // namespace perfleet
