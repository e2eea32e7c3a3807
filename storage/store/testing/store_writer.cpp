// A process beside the tests, to be killed or to have another user's rights.
//   storage_test_writer write DIR    puts and syncs batch after batch; a line "seq" once it is durable; until killed
//   storage_test_writer follow DIR   the same, but some batches for every letter of input, and then waits for the next
//   storage_test_writer count DIR    reads as a user without rights; a line with the number of blocks
//   storage_test_writer open DIR     opens a writer; a line "error CODE MESSAGE", or "open" and waits for input
//   storage_test_writer intrude DIR  the same as a user without rights
#include <grp.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "storage/store/open_store.h"
#include "storage/store/testing/sample_batches.h"
#include "storage/store/testing/store_writer.h"
#include "storage/store/testing/visit_blocks.h"

namespace perfleet {
namespace {

int fail(const Error& error) {
    std::printf("error %d %s\n", static_cast<int>(error.code), error.message.c_str());
    std::fflush(stdout);
    return 1;
}

constexpr std::uint64_t kBatchesALetter = 20;

int write(const std::string& directory, std::uint64_t batches_a_letter) {
    auto store = open_store(directory);
    if (!store.ok()) {
        return fail(store.error());
    }
    if (auto defined = (*store)->define(test_writer::partition(), test_writer::session()); !defined.ok()) {
        return fail(defined.error());
    }
    for (std::uint64_t seq = 1;; ++seq) {
        if (batches_a_letter > 0 && seq % batches_a_letter == 1 && std::getchar() == EOF) {
            return 0;
        }
        const std::vector batches{test_writer::batch(Seq{seq})};
        if (auto outcomes = (*store)->put(test_writer::partition(), batches); !outcomes.ok()) {
            return fail(outcomes.error());
        }
        auto advanced = (*store)->advance_watermark(test_writer::kTarget, test_writer::kSession, Seq{seq});
        if (!advanced.ok()) {
            return fail(advanced.error());
        }
        if (auto synced = (*store)->sync(); !synced.ok()) {
            return fail(synced.error());
        }
        std::printf("%llu\n", static_cast<unsigned long long>(seq));
        std::fflush(stdout);
    }
}

// Without root it is the user who owns the folder; then only its mode counts.
bool become_nobody() {
    constexpr ::uid_t kNobody = 65'534;
    return ::geteuid() != 0 || (::setgroups(0, nullptr) == 0 && ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0);
}

int count(const std::string& directory) {
    auto reader = open_store_reader(directory);
    if (!reader.ok()) {
        return fail(reader.error());
    }
    std::uint64_t block_count = 0;
    auto visited = visit_blocks(**reader, test_writer::partition(), test_writer::kTarget, test_writer::kSession,
                                test_writer::kSeries, [&](const BlockKey&, std::string_view) {
                                    ++block_count;
                                    return Visit::kContinue;
                                });
    if (!visited.ok()) {
        return fail(visited.error());
    }
    std::printf("%llu\n", static_cast<unsigned long long>(block_count));
    return 0;
}

int open(const std::string& directory) {
    auto store = open_store(directory);
    if (!store.ok()) {
        return fail(store.error());
    }
    std::printf("open\n");
    std::fflush(stdout);
    (void)std::getchar();
    return 0;
}

int run(std::string_view role, const std::string& directory) {
    if (role == "write" || role == "follow") {
        return write(directory, role == "follow" ? kBatchesALetter : 0);
    }
    if ((role == "count" || role == "intrude") && !become_nobody()) {
        return fail(Error{ErrorCode::kInvalid, "can't become nobody"});
    }
    if (role == "count") {
        return count(directory);
    }
    return role == "open" || role == "intrude" ? open(directory) : 2;
}

}  // namespace
}  // namespace perfleet

int main(int argc, char** argv) { return argc == 3 ? perfleet::run(argv[1], argv[2]) : 2; }
