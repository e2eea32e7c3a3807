// A seL4 kernel's log, imported and queried as people do it: from the folder and from a query server.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/end_to_end/process.h"
#include "tests/end_to_end/pseudo_terminal.h"
#include "tests/golden/golden_file.h"

namespace perfleet::kernel_log_program_test {
namespace {

using end_to_end::field_of;
using end_to_end::Finished;
using end_to_end::Process;
using end_to_end::program_path;

constexpr unsigned short kTerminalColumns = 80;
const std::vector<std::string> kNoPager{"PERFLEET_PAGER=cat"};

std::string little_endian(std::uint64_t value, unsigned size_bytes) {
    std::string bytes;
    for (unsigned i = 0; i < size_bytes; ++i) {
        bytes += static_cast<char>(value >> (8 * i) & 0xff);
    }
    return bytes;
}

class KernelLogProgram : public ::testing::Test {
protected:
    Finished perfleet(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), program_path("perfleet"));
        return end_to_end::run(arguments, {});
    }

    std::string file(const std::string& name, const std::string& content) {
        std::string path = folder_ / name;
        std::ofstream{path, std::ios::binary} << content;
        return path;
    }

    void import(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "import");
        arguments.insert(arguments.end(), {"--data", data_, "--target", "board"});
        const Finished finished = perfleet(arguments);
        EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
    }

    // A frame of 2 MiB, of which 3,000 entries are new.
    void import_everything() {
        std::string entries;
        std::string points;
        std::string tracepoints;
        std::uint64_t start = 10'000'000'000;
        for (std::uint64_t i = 0; i < 3'000; ++i) {
            start += 1'000 + i * 7 % 311;
            entries += little_endian(start, 8) + little_endian(200 + i % 97, 4) + little_endian(i % 8, 1) +
                       little_endian((i * 2'654'435'761U) & 0x1fff'ffff, 4) + std::string(7, '\0');
            points += i % 8 == 5 ? std::to_string(start - 100) + "\n" : "";
            tracepoints += little_endian(i % 2 == 0 ? 1 : 0, 8) + little_endian(i % 2 == 0 ? 208 : 750, 8);
        }
        entries.resize(2U << 20);
        import({"--format", "sel4-entries", "--arch", "aarch64", "--log-index", "3000", "--clock-hz", "62500000",
                "--points", "fault=" + file("points", points), file("entries", entries)});
        import({"--format", "sel4-tracepoints", "--arch", "aarch64", "--log-index", "3000", "--max-tracepoints", "2",
                file("tracepoints", tracepoints)});
        import({"--format", "utilisation", golden_path("sel4/utilisation_console.txt")});
        import({"--format", "sel4bench", golden_path("sel4/sel4bench_console.txt")});
    }

    end_to_end::TemporaryFolder folder_;
    std::string data_ = folder_ / "store";
};

TEST_F(KernelLogProgram, AnswersFitATerminalAndAreTheSameFromAGateway) {
    import_everything();
    Process server{{program_path("perfleet-query"), "--data", data_, "--listen", "tcp://127.0.0.1:*"}};
    const auto ready = server.wait_for_output("ready ");
    ASSERT_TRUE(ready) << server.error_output();
    const std::vector<std::vector<std::string>> questions{
        {"kernel-entries"},
        {"kernel-entries", "--table", "syscalls"},
        {"kernel-entries", "--table", "interrupts"},
        {"kernel-entries", "--table", "durations", "--by", "cap"},
        {"kernel-entries", "--by", "syscall", "--path", "syscall"},
        {"kernel-entries", "--since-event", "fault", "--path", "vm_fault"},
        {"kernel-entries", "--since-event", "fault", "--table", "matches"},
        {"utilisation"},
        {"tracepoints"},
        {"tracepoints", "--overhead", "1,0"},
        {"tracepoints", "--overhead", "1,0", "--mode", "sel4bench-legacy"},
        {"tracepoints", "--combine", "1+0"},
        {"tracepoints", "--event", "tracepoint-0", "--correct", "208,540", "--inner", "1"},
    };
    for (const auto& question : questions) {
        for (const char* format : {"text", "json", "csv"}) {
            std::vector<std::string> arguments = question;
            arguments.insert(arguments.end(), {"--format", format});
            std::vector<std::string> remote = arguments;
            arguments.insert(arguments.end(), {"--data", data_, "--all"});
            remote.insert(remote.end(), {"--gateway", field_of(*ready, "query")});
            const Finished local = perfleet(arguments);
            const Finished from_gateway = perfleet(remote);
            const std::string what = question[0] + " " + question.back() + " " + format;
            EXPECT_EQ(local.ending.status, 0) << what << local.error_output;
            EXPECT_EQ(from_gateway.output, local.output) << what;
            EXPECT_EQ(from_gateway.error_output, local.error_output) << what;
            if (std::string_view{format} == "json") {
                const auto answer = nlohmann::json::parse(local.output);
                EXPECT_FALSE(answer["rows"].empty()) << what;
                EXPECT_EQ(answer["rows"][0].size(), answer["columns"].size()) << what;
            } else if (std::string_view{format} == "text") {
                arguments.insert(arguments.begin(), program_path("perfleet"));
                const std::string shown = end_to_end::run_in_terminal(arguments, kTerminalColumns, kNoPager).output;
                EXPECT_LE(end_to_end::widest_line(shown), kTerminalColumns) << shown;
            }
        }
    }
    server.send_signal(SIGTERM);
    EXPECT_TRUE(server.wait());
}

TEST_F(KernelLogProgram, WrongUsageIsToldFromAFileThatIsWrong) {
    const std::string log = file("log", std::string(48, '\0'));
    const Finished no_index =
        perfleet({"import", "--format", "sel4-entries", "--arch", "aarch64", "--data", data_, log});
    EXPECT_EQ(no_index.ending.status, 2);
    EXPECT_NE(no_index.error_output.find("--log-index"), std::string::npos);
    const Finished cut =
        perfleet({"import", "--format", "sel4-entries", "--arch", "aarch64", "--log-index", "3", "--data", data_, log});
    EXPECT_EQ(cut.ending.status, 1);
    EXPECT_NE(cut.error_output.find(log), std::string::npos) << cut.error_output;
    EXPECT_EQ(perfleet({"kernel-entries", "--table", "x", "--data", data_}).ending.status, 2);
    EXPECT_EQ(perfleet({"tracepoints", "--combine", "2", "--data", data_}).ending.status, 2);
}

}  // namespace
}  // namespace perfleet::kernel_log_program_test
