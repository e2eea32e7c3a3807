#include "target-collector/wire/file_driver.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "target-collector/message/batch_builder.h"
#include "target-collector/message/hello.h"
#include "target-collector/message/reply_reader.h"
#include "target-collector/message/sealer.h"
#include "target-collector/wire/delivery.h"
#include "target-collector/wire/frame_file.h"
#include "target-collector/wire/testing/gateway_frames.h"

namespace perfleet {
namespace {

using wire_layout::MessageTag;

constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr SessionId kSession{0x11, 0x22};
constexpr UtcNs kUtc{1'700'000'000 * kNsPerSecond};

class FileDriverTest : public testing::Test {
protected:
    FileDriverTest() {
        std::string pattern = (std::filesystem::temp_directory_path() / "perfleet-file-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
        path_ = (folder_ / "out").string();
    }
    ~FileDriverTest() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::vector<char> file_bytes() const {
        std::ifstream file(path_, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void write_file(const std::vector<char>& bytes) const {
        std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
    [[nodiscard]] std::vector<SeenFrame> read_frames() const {
        std::vector<SeenFrame> frames;
        auto file = FrameFile::open(path_);
        EXPECT_TRUE(file.ok());
        for (auto frame = (*file)->next();; frame = (*file)->next()) {
            EXPECT_TRUE(frame.ok()) << frame.error().message;
            if (!frame.ok() || frame->empty()) {
                return frames;
            }
            frames.push_back(see_frame(*frame));
        }
    }

    // A whole session of `batch_count` batches; `between` runs before each step.
    template <class Between>
    Delivery::Status run_session(FileDriver& driver, int batch_count, Between between) {
        std::vector<std::uint64_t> batch_memory((1U << 20) / 8);
        std::vector<std::uint64_t> loss_memory(kLossReportRingSizeBytes / 8);
        std::vector<std::uint64_t> values(BatchBuilder::values_count(100, 6, 2));
        std::vector<std::uint64_t> spool((1U << 20) / 8);
        SpscRing batches(std::as_writable_bytes(std::span{batch_memory}));
        SpscRing losses(std::as_writable_bytes(std::span{loss_memory}));
        BatchBuilder builder(values, {}, 100);
        SessionCounts counts;
        Sealer sealer({kSession, 100, 1'000}, builder, counts, batches, losses);
        const std::string build_id = "build-id";
        const std::string content(300'000, 's');
        const ImageSupply images[] = {{std::as_bytes(std::span{build_id}), 1, std::as_bytes(std::span{content})}};
        const ImageOfferDescription offers[] = {
            {std::as_bytes(std::span{build_id}), protocol::ImageType::kKernelSymbols, content.size()}};
        HelloDescription hello;
        hello.session = kSession;
        hello.image_offers = offers;
        std::vector<std::byte> hello_bytes(hello_size_bytes_max(hello));
        hello_bytes.resize(*write_hello(hello, hello_bytes));
        Delivery::Options options;
        options.session = kSession;
        options.hello = hello_bytes;
        options.spool = std::as_writable_bytes(std::span{spool});
        options.images = images;
        const auto delivery = std::make_unique<Delivery>(options, driver, batches, losses);
        sealer.begin_epoch(Ticks{0}, kUtc);
        for (int i = 1; i <= batch_count; ++i) {
            const std::uint64_t row[] = {0, 1, 1, 1, 1};
            sealer.append({kSamples, Ticks{static_cast<std::uint64_t>(i)}, row});
            sealer.flush(Ticks{1});
        }
        EXPECT_TRUE(sealer.finish({Ticks{7}, UtcNs{8}, 9}));
        for (std::uint64_t step = 1; step < 1'000 && !delivery->status().finished; ++step) {
            between(step, delivery->status());
            delivery->step(step * 1'000'000'000);
        }
        return delivery->status();
    }

    std::filesystem::path folder_;
    std::string path_;
};

TEST_F(FileDriverTest, KeepsAWholeSession) {
    auto driver = FileDriver::create(path_, false);
    ASSERT_TRUE(driver.ok());
    const auto status = run_session(**driver, 100, [](auto, const auto&) {});
    EXPECT_TRUE(status.finished);
    EXPECT_EQ(status.prefix, Seq{100});
    EXPECT_EQ(status.batches_resent, 0U);
    EXPECT_FALSE((*driver)->error().has_value());
    driver->reset();

    const auto frames = read_frames();
    ASSERT_GT(frames.size(), 102U);
    EXPECT_EQ(frames.front().tag, MessageTag::kHello);
    EXPECT_EQ(frames.front().session, kSession);
    EXPECT_EQ(frames.back().tag, MessageTag::kBye);
    EXPECT_EQ(frames.back().entry(kSamples, CountName::kProduced), 100U);
    std::uint64_t seq = 0;
    std::string content;
    for (const SeenFrame& frame : frames) {
        if (frame.tag == MessageTag::kBatch) {
            EXPECT_EQ(frame.seq, Seq{++seq});
        } else if (frame.tag == MessageTag::kImage) {
            EXPECT_EQ(frame.offset_bytes, content.size());
            content += frame.content;
        }
    }
    EXPECT_EQ(seq, 100U);
    EXPECT_EQ(content, std::string(300'000, 's'));
}

// So that a session isn't taken for complete before its end is on the disk.
TEST_F(FileDriverTest, AnswersThatEverythingIsKeptToTheByeAlone) {
    std::vector<std::vector<std::byte>> frames;
    {
        auto driver = FileDriver::create(path_, false);
        ASSERT_TRUE(driver.ok());
        run_session(**driver, 3, [](auto, const auto&) {});
    }
    auto file = FrameFile::open(path_);
    ASSERT_TRUE(file.ok());
    for (auto frame = (*file)->next(); frame.ok() && !frame->empty(); frame = (*file)->next()) {
        frames.emplace_back(frame->begin(), frame->end());
    }
    auto driver = FileDriver::create(path_ + "-again", false);
    ASSERT_TRUE(driver.ok());
    std::size_t acks = 0;
    std::array<std::byte, 1'024> answer{};
    for (const auto& frame : frames) {
        ASSERT_TRUE((*driver)->send(frame));
        for (auto size = *(*driver)->receive(answer); size != 0; size = *(*driver)->receive(answer)) {
            const auto reply = read_reply(std::span{answer}.first(size));
            ASSERT_TRUE(reply.ok());
            acks += reply->type == Reply::Type::kAck ? 1 : 0;
            EXPECT_EQ(reply->is_finished, see_frame(frame).tag == MessageTag::kBye);
        }
    }
    EXPECT_GT(acks, 3U);
}

TEST_F(FileDriverTest, NamesItsFileWhereAMessageIsNone) {
    auto driver = FileDriver::create(path_, false);
    ASSERT_TRUE(driver.ok());
    const std::string text = "not a message of a collector";
    EXPECT_FALSE((*driver)->send(std::as_bytes(std::span{text})));
    ASSERT_TRUE((*driver)->error().has_value());
    EXPECT_NE((*driver)->error()->message.find(path_), std::string::npos) << (*driver)->error()->message;
}

TEST_F(FileDriverTest, AFailedWriteIsTriedAgainAndLeavesNoTrace) {
    auto driver = FileDriver::create(path_, false);
    ASSERT_TRUE(driver.ok());
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    std::string message;
    const auto status = run_session(**driver, 100, [&](std::uint64_t step, const Delivery::Status&) {
        if (step == 3) {
            rlimit small = before;
            small.rlim_cur = file_bytes().size() + 1'001;  // in the middle of a frame
            ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
        } else if (step == 10) {
            ASSERT_TRUE((*driver)->error().has_value());
            message = (*driver)->error()->message;
            ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
        }
    });
    std::signal(SIGXFSZ, handler);
    EXPECT_NE(message.find(path_), std::string::npos);
    EXPECT_TRUE(status.finished);
    EXPECT_FALSE((*driver)->error().has_value());
    std::uint64_t seq = 0;
    for (const SeenFrame& frame : read_frames()) {
        if (frame.tag == MessageTag::kBatch) {
            EXPECT_EQ(frame.seq, Seq{++seq});
        }
    }
    EXPECT_EQ(seq, 100U);
}

TEST_F(FileDriverTest, BeginsWithTheDocumentedBytes) {
    ASSERT_TRUE(FileDriver::create(path_, false).ok());
    EXPECT_EQ(file_bytes(), (std::vector<char>{'P', 'E', 'R', 'F', 'L', 'E', 'E', 'T', 1, 0, 0, 0, 0, 0, 0, 0}));
}

TEST_F(FileDriverTest, ReplacesAFileOnlyWhenForced) {
    write_file({'x'});
    const auto refused = FileDriver::create(path_, false);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
    EXPECT_NE(refused.error().message.find("--force"), std::string::npos);
    EXPECT_EQ(file_bytes(), std::vector<char>{'x'});
    ASSERT_TRUE(FileDriver::create(path_, true).ok());
    ASSERT_TRUE(FileDriver::create(path_, false).ok()) << "a header alone is no recording";
    EXPECT_EQ(file_bytes().size(), 16U);
}

TEST_F(FileDriverTest, NamesAPathThatCannotBeWritten) {
    const auto driver = FileDriver::create((folder_ / "missing" / "out").string(), false);
    ASSERT_FALSE(driver.ok());
    EXPECT_EQ(driver.error().code, ErrorCode::kNotFound);
    EXPECT_NE(driver.error().message.find("missing"), std::string::npos);
}

TEST_F(FileDriverTest, AFileCutShortGivesTheWholeFramesBefore) {
    {
        auto driver = FileDriver::create(path_, false);
        ASSERT_TRUE(driver.ok());
        run_session(**driver, 2, [](auto, const auto&) {});
    }
    const auto whole = file_bytes();
    const std::size_t frame_count = read_frames().size();
    for (const std::size_t missing : {std::size_t{1}, std::size_t{100}, whole.size() - 18}) {
        write_file({whole.begin(), whole.end() - static_cast<std::ptrdiff_t>(missing)});
        auto file = FrameFile::open(path_);
        ASSERT_TRUE(file.ok());
        std::size_t read = 0;
        auto frame = (*file)->next();
        for (; frame.ok() && !frame->empty(); frame = (*file)->next()) {
            ++read;
        }
        EXPECT_LT(read, frame_count);
        ASSERT_FALSE(frame.ok());
        EXPECT_EQ(frame.error().code, ErrorCode::kTruncated);
        EXPECT_NE(frame.error().message.find(path_), std::string::npos);
    }
}

TEST_F(FileDriverTest, RefusesOtherFilesByName) {
    write_file({'P', 'E', 'R', 'F', 'I', 'L', 'E', '2', 0, 0, 0, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(FrameFile::open(path_).error().code, ErrorCode::kInvalid);
    write_file({'P', 'E', 'R'});
    EXPECT_EQ(FrameFile::open(path_).error().code, ErrorCode::kInvalid);
    write_file({'P', 'E', 'R', 'F', 'L', 'E', 'E', 'T', 2, 0, 0, 0, 0, 0, 0, 0});
    const auto newer = FrameFile::open(path_);
    EXPECT_EQ(newer.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(newer.error().message.find("version 2"), std::string::npos);
    write_file({'P', 'E', 'R', 'F', 'L', 'E', 'E', 'T', 1, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, 0});
    EXPECT_EQ((*FrameFile::open(path_))->next().error().code, ErrorCode::kTooLarge);
    EXPECT_EQ(FrameFile::open(path_ + "-none").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace perfleet
