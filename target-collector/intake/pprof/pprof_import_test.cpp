// A profile becomes batches, symbols and an end, wherever they go. tests/pprof has what a store makes of them.
#include "target-collector/intake/pprof/pprof_import.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <protozero/pbf_builder.hpp>
#include <string>

#include "schemas/pprof/pprof_message.h"
#include "target-collector/intake/session/testing/passed_sessions.h"

namespace perfleet::pprof_intake_test {
namespace {

using protozero::pbf_builder;

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
