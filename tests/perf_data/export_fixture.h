// A store in memory, an export of it in a temporary folder, and the real perf to read it. For tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/perf-data/perf_data_exporter.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet {

class FixtureFileSink : public ExportSink {
public:
    explicit FixtureFileSink(const std::string& path) : file_{path, std::ios::binary | std::ios::trunc} {}
    [[nodiscard]] Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        file_.seekp(static_cast<std::streamoff>(offset));
        file_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        file_.flush();
        if (!file_) {
            return Error{ErrorCode::kIo, "cannot write"};
        }
        return Done{};
    }

private:
    std::ofstream file_;
};

struct Said {
    std::string output;
    std::string errors;
    int status = 0;
};

inline std::string content_of(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

inline std::size_t count_of(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) {
        ++count;
    }
    return count;
}

class ExportTest : public testing::Test {
protected:
    static constexpr TargetId kTarget{7};
    static constexpr SessionId kSession{1, 2};
    static constexpr BucketNumber kBucket{472'222};

    ExportTest() {
        std::string name = (std::filesystem::temp_directory_path() / "perfleet-export-XXXXXX").string();
        folder_ = mkdtemp(name.data());
    }
    ~ExportTest() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string path(const std::string& name = "perf.data") const { return folder_ + "/" + name; }

    SampleBatch batch(std::uint64_t seq, std::uint32_t epoch = 0, SessionId session = kSession) const {
        return SampleBatch{kTarget, session, Seq{seq}, EpochNumber{epoch}, kBucket};
    }

    void define(const SessionRecord& session) {
        ASSERT_TRUE(store_->define(partition_of(session.target, kBucket), session).ok());
    }
    void put(const SampleBatch& batch, TargetId target = kTarget) {
        const auto outcomes = store_->put(partition_of(target, kBucket), std::vector{batch.build()});
        ASSERT_TRUE(outcomes.ok()) << outcomes.error().message;
        ASSERT_EQ((*outcomes)[0], PutOutcome::kStored);
    }

    Result<ExportSummary> try_export(const Selection& selection = {}, const std::string& name = "perf.data",
                                     const PerfDataOptions& options = {}) {
        auto scan = PERFLEET_TRY(Scan::open(*store_, selection));
        FixtureFileSink sink{path(name)};
        return export_perf_data(scan, options, sink);
    }
    ExportSummary exported(const Selection& selection = {}, const std::string& name = "perf.data",
                           const PerfDataOptions& options = {}) {
        auto summary = try_export(selection, name, options);
        EXPECT_TRUE(summary.ok()) << summary.error().message;
        return summary.ok() ? *std::move(summary) : ExportSummary{};
    }

    static bool perf_is_here() { return std::system("perf --version >/dev/null 2>&1") == 0; }

    // `perf ARGUMENTS`, in the folder, with a HOME of its own.
    [[nodiscard]] Said perf(const std::string& arguments) const {
        Said said;
        said.status = std::system(
            ("cd " + folder_ + " && HOME=" + folder_ + " perf " + arguments + " >out 2>err </dev/null").c_str());
        said.output = content_of(folder_ + "/out");
        said.errors = content_of(folder_ + "/err");
        return said;
    }

    std::unique_ptr<Store> store_ = make_memory_store();

private:
    std::string folder_;
};

}  // namespace perfleet
