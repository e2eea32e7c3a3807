// A store on disk for tests, and a process of its own beside them (store/testing/store_writer.cpp).
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/engine/rocksdb/folder.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/store_writer.h"
#include "storage/store/testing/visit_blocks.h"

namespace perfleet {

// The process storage_test_writer.
class Child {
public:
    Child(const std::string& role, const std::string& directory) {
        int to[2];
        int from[2];
        EXPECT_EQ(::pipe2(to, O_CLOEXEC), 0);
        EXPECT_EQ(::pipe2(from, O_CLOEXEC), 0);
        const std::string program =
            std::filesystem::read_symlink("/proc/self/exe").parent_path() / "storage_test_writer";
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(to[0], STDIN_FILENO);
            ::dup2(from[1], STDOUT_FILENO);
            ::execl(program.c_str(), program.c_str(), role.c_str(), directory.c_str(), nullptr);
            ::_exit(127);
        }
        ::close(to[0]);
        ::close(from[1]);
        in_ = to[1];
        out_ = ::fdopen(from[0], "r");
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        if (pid_ > 0) {
            kill();
        }
        ::close(in_);
        (void)std::fclose(out_);
    }

    // The next line without its end; empty when there is none.
    std::string line() {
        std::string text;
        for (int letter = std::fgetc(out_); letter != EOF && letter != '\n'; letter = std::fgetc(out_)) {
            text.push_back(static_cast<char>(letter));
        }
        return text;
    }

    void write(char letter) const { EXPECT_EQ(::write(in_, &letter, 1), 1); }

    void kill() {
        ::kill(pid_, SIGKILL);
        wait();
    }

    int wait() {
        int status = -1;
        EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
        pid_ = -1;
        return status;
    }

private:
    ::pid_t pid_ = -1;
    int in_ = -1;
    std::FILE* out_ = nullptr;
};

class RocksdbStore : public testing::Test {
protected:
    void SetUp() override {
        auto folder = TemporaryFolder::make("perfleet-test-");
        ASSERT_TRUE(folder.ok());
        folder_ = std::move(*folder);
        directory_ = folder_->path() + "/data";
    }

    std::unique_ptr<Store> open() {
        auto store = open_store(directory_);
        EXPECT_TRUE(store.ok()) << store.error().message;
        return store.ok() ? std::move(*store) : nullptr;
    }

    std::unique_ptr<StoreReader> open_reader() {
        auto reader = open_store_reader(directory_);
        EXPECT_TRUE(reader.ok()) << reader.error().message;
        return reader.ok() ? std::move(*reader) : nullptr;
    }

    static void put(Store& store, std::uint64_t first, std::uint64_t last) {
        ASSERT_TRUE(store.define(test_writer::partition(), test_writer::session()).ok());
        for (std::uint64_t seq = first; seq <= last; ++seq) {
            const std::vector batches{test_writer::batch(Seq{seq})};
            auto outcomes = store.put(test_writer::partition(), batches);
            ASSERT_TRUE(outcomes.ok()) << outcomes.error().message;
            ASSERT_EQ(outcomes->at(0), PutOutcome::kStored);
        }
    }

    // The seqs whose blocks and records are there, each byte of which must be right.
    static std::vector<std::uint64_t> intact_seqs(const StoreReader& reader) {
        std::vector<std::uint64_t> seqs;
        auto visited = visit_blocks(reader, test_writer::partition(), test_writer::kTarget, test_writer::kSession,
                                    test_writer::kSeries, [&](const BlockKey& key, std::string_view block) {
                                        EXPECT_EQ(block, test_writer::kept_batch(key.first_seq).series[0].block);
                                        seqs.push_back(key.first_seq.value);
                                        return Visit::kContinue;
                                    });
        EXPECT_TRUE(visited.ok()) << visited.error().message;
        std::size_t at = 0;
        visited = reader.visit_batches(test_writer::partition(), test_writer::kTarget, test_writer::kSession,
                                       [&](const BatchRecord& record) {
                                           EXPECT_LT(at, seqs.size());
                                           EXPECT_EQ(record.seq.value, seqs[at++]);
                                           return Visit::kContinue;
                                       });
        EXPECT_TRUE(visited.ok()) << visited.error().message;
        EXPECT_EQ(at, seqs.size());
        return seqs;
    }

    static void expect_error(const Error& error, ErrorCode code, std::string_view words) {
        EXPECT_EQ(error.code, code) << error.message;
        EXPECT_NE(error.message.find(words), std::string::npos) << error.message;
    }

    std::unique_ptr<TemporaryFolder> folder_;
    std::string directory_;
};

inline std::vector<std::uint64_t> one_to(std::uint64_t last) {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t number = 1; number <= last; ++number) {
        numbers.push_back(number);
    }
    return numbers;
}

}  // namespace perfleet
