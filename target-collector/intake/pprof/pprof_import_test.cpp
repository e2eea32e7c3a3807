// A profile becomes batches, symbols and an end, wherever they go. tests/pprof has what a store makes of them.
#include "target-collector/intake/pprof/pprof_import.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <optional>
#include <protozero/pbf_builder.hpp>
#include <set>
#include <string>
#include <vector>

#include "schemas/pprof/pprof_message.h"

namespace perfleet::pprof_intake_test {
namespace {

using protozero::pbf_builder;

// What a destination got of one session.
struct Passed {
    SessionRecord record;
    std::vector<SealedRecord> batches;
    std::set<std::string> images;
    std::optional<SessionEnd> end;
};

class PassedWriter final : public SessionWriter {
public:
    PassedWriter(SessionRecord record, Passed& passed) : SessionWriter{std::move(record)}, passed_{passed} {
        passed_.record = record_;
    }
    Result<Done> put(const SealedRecord& header, std::span<const std::byte> message) override {
        EXPECT_FALSE(message.empty());
        passed_.batches.push_back(header);
        return Done{};
    }
    Result<Done> put_image(std::string_view build_id, ImageContent content) override {
        EXPECT_FALSE(content.bytes.empty());
        passed_.images.emplace(build_id);
        return Done{};
    }
    Result<Done> end(const SessionEnd& end) override {
        passed_.end = end;
        return Done{};
    }

private:
    Passed& passed_;
};

class PassedDestination final : public SessionDestination {
public:
    explicit PassedDestination(Passed& passed) : passed_{passed} {}
    Result<std::unique_ptr<SessionWriter>> begin(SessionRecord record, UtcNs /*now*/) override {
        return std::unique_ptr<SessionWriter>{std::make_unique<PassedWriter>(std::move(record), passed_)};
    }
    Result<bool> has_ended(TargetId /*target*/, SessionId /*session*/) const override { return false; }

private:
    Passed& passed_;
};

// A sample of 5 bytes in one function.
std::string profile() {
    std::string bytes;
    pbf_builder<pprof::Profile> message{bytes};
    for (const char* const text : {"", "space", "bytes", "handle"}) {
        message.add_string(pprof::Profile::kStringTable, text);
    }
    {
        pbf_builder<pprof::ValueType> type{message, pprof::Profile::kSampleType};
        type.add_int64(pprof::ValueType::kType, 1);
        type.add_int64(pprof::ValueType::kUnit, 2);
    }
    {
        pbf_builder<pprof::Function> function{message, pprof::Profile::kFunction};
        function.add_uint64(pprof::Function::kId, 1);
        function.add_int64(pprof::Function::kName, 3);
    }
    {
        pbf_builder<pprof::Location> location{message, pprof::Profile::kLocation};
        location.add_uint64(pprof::Location::kId, 1);
        pbf_builder<pprof::Line> line{location, pprof::Location::kLine};
        line.add_uint64(pprof::Line::kFunctionId, 1);
    }
    pbf_builder<pprof::Sample> sample{message, pprof::Profile::kSample};
    sample.add_uint64(pprof::Sample::kLocationId, 1);
    sample.add_int64(pprof::Sample::kValue, 5);
    return bytes;
}

TEST(PprofIntake, MakesBatchesSymbolsAndAnEndWithoutAStore) {
    const std::string bytes = profile();
    const int fd = ::memfd_create("profile", MFD_CLOEXEC);
    ASSERT_EQ(::write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    const auto file = FileBytes::open("/proc/self/fd/" + std::to_string(fd));
    ::close(fd);
    ASSERT_TRUE(file.ok());
    RecordingImport options;
    options.target_name = "pushed";
    options.now = UtcNs{4'000'000'000'000'000'000};
    Passed passed;
    PassedDestination destination{passed};
    const auto imported = import_pprof(*file, options, destination);
    ASSERT_TRUE(imported.ok()) << imported.error().message;
    EXPECT_EQ(imported->sample_count, 1U);
    EXPECT_EQ(passed.record.target_name, "pushed");
    ASSERT_EQ(passed.record.events.size(), 1U);
    EXPECT_EQ(passed.record.events.front().name, "space");
    EXPECT_EQ(passed.images.size(), 2U) << "the profile, and names of functions";
    ASSERT_FALSE(passed.batches.empty());
    ASSERT_TRUE(passed.end.has_value());
    EXPECT_EQ(passed.end->last_seq, passed.batches.back().seq);
    EXPECT_EQ(passed.batches.back().seq.value, passed.batches.size());
}

}  // namespace
}  // namespace perfleet::pprof_intake_test
