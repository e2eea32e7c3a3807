// What tests of the spool share: a folder of their own, and a collector that works in a spool file and can be dropped
// at any moment, as a kill does.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "target-collector/message/batch_builder.h"
#include "target-collector/message/hello.h"
#include "target-collector/message/sealer.h"
#include "target-collector/spool/spool_folder.h"
#include "target-collector/wire/delivery.h"

namespace perfleet::spool_test {

// In memory where there is such a place: making a file syncs it.
class TemporaryFolder {
public:
    TemporaryFolder() {
        const std::filesystem::path memory = "/dev/shm";
        path_ = ((::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path()) /
                 "perfleet-spool-XXXXXX")
                    .string();
        EXPECT_NE(::mkdtemp(path_.data()), nullptr);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() { std::filesystem::remove_all(path_); }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

inline std::vector<std::byte> hello_of(SessionId session) {
    HelloDescription hello;
    hello.session = session;
    hello.target_name = "spooling";
    std::vector<std::byte> bytes(hello_size_bytes_max(hello));
    bytes.resize(*write_hello(hello, bytes));
    return bytes;
}

inline std::unique_ptr<SpoolFolder> open_folder(const std::string& path, std::size_t size_bytes,
                                                std::vector<std::string>* reports = nullptr) {
    auto folder = SpoolFolder::open(path, size_bytes, [reports](std::string_view text) {
        if (reports != nullptr) {
            reports->emplace_back(text);
        }
    });
    EXPECT_TRUE(folder.ok()) << folder.error().message;
    return folder.ok() ? std::move(*folder) : nullptr;
}

// The collector's whole way from rows to frames over a spool file.
class SpoolingCollector {
public:
    SpoolingCollector(SpoolFolder& folder, SessionId session, NetworkDriver& driver,
                      std::size_t ring_size_bytes = kBatchRingSizeBytesMin, std::uint32_t batch_rows_max = 100)
        : batch_memory_(ring_size_bytes / 8),
          loss_memory_(kLossReportRingSizeBytes / 8),
          values_(BatchBuilder::values_count(200, 14, 8)),
          bytes_(1 << 12),
          hello_(hello_of(session)),
          file_(make_file(folder, session, hello_)),
          batches_(std::as_writable_bytes(std::span{batch_memory_})),
          losses_(std::as_writable_bytes(std::span{loss_memory_})),
          builder_(std::make_unique<BatchBuilder>(values_, bytes_, 200)),
          counts_(std::make_unique<SessionCounts>()),
          live_counts_(std::make_unique<LiveCounts>()),
          journal_(file_->journal(), kFirstJournalNumber),
          sealer(std::make_unique<Sealer>(Sealer::Options{session, batch_rows_max, 1'000'000'000, live_counts_.get()},
                                          *builder_, *counts_, batches_, losses_)) {
        live_counts_->attach(file_->counts());
        Delivery::Options options;
        options.session = session;
        options.hello = hello_;
        options.spool = file_->records();
        options.journal = &journal_;
        delivery = std::make_unique<Delivery>(options, driver, batches_, losses_);
    }

    [[nodiscard]] const SpoolFile& file() const { return *file_; }
    [[nodiscard]] LiveCounts& live_counts() { return *live_counts_; }

private:
    static std::unique_ptr<SpoolFile> make_file(SpoolFolder& folder, SessionId session,
                                                std::span<const std::byte> hello) {
        auto file = folder.create(session, hello);
        EXPECT_TRUE(file.ok()) << file.error().message;
        return std::move(*file);
    }

    std::vector<std::uint64_t> batch_memory_;
    std::vector<std::uint64_t> loss_memory_;
    std::vector<std::uint64_t> values_;
    std::vector<std::byte> bytes_;
    std::vector<std::byte> hello_;
    std::unique_ptr<SpoolFile> file_;
    SpscRing batches_;
    SpscRing losses_;
    std::unique_ptr<BatchBuilder> builder_;
    std::unique_ptr<SessionCounts> counts_;
    std::unique_ptr<LiveCounts> live_counts_;
    DeliveryJournal journal_;

public:
    std::unique_ptr<Sealer> sealer;
    std::unique_ptr<Delivery> delivery;
};

}  // namespace perfleet::spool_test
