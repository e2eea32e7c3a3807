// The environment of a program that a test in C++ starts: its wall clock, and whether its disk answers (world_page.h).
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "tests/chaos/world_page.h"
#include "tests/end_to_end/process.h"

namespace perfleet::chaos {

class World {
public:
    explicit World(std::string path) : path_{std::move(path)} {
        const int descriptor = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        EXPECT_GE(descriptor, 0);
        EXPECT_EQ(::ftruncate(descriptor, kPageSizeBytes), 0);
        page_ =
            static_cast<WorldPage*>(::mmap(nullptr, kPageSizeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0));
        ::close(descriptor);
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;
    ~World() { ::munmap(page_, kPageSizeBytes); }

    void set_clock(std::int64_t offset_ns) { page_->utc_offset_ns = offset_ns; }
    void set_syncs_hang(bool do_hang) { page_->do_syncs_hang = do_hang ? 1 : 0; }

    void wait_until_it_hangs() const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{end_to_end::kTimeoutS};
        while (page_->hanging_count == 0) {
            ASSERT_LT(std::chrono::steady_clock::now(), end) << "nothing is synced";
            std::this_thread::sleep_for(std::chrono::microseconds{50});
        }
    }

    [[nodiscard]] end_to_end::Process::Options options() const {
        end_to_end::Process::Options options;
        options.environment = {"LD_PRELOAD=" PERFLEET_CHAOS_WORLD, "PERFLEET_CHAOS_PAGE=" + path_,
                               "ASAN_OPTIONS=verify_asan_link_order=0"};
        return options;
    }

private:
    std::string path_;
    WorldPage* page_;
};

}  // namespace perfleet::chaos
