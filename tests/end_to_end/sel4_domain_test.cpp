// The collector as a Microkit protection domain, as far as that needs no Microkit: tools/microkit-domain writes its
// system's description into it, and its run, on a simulated kernel and machine, distinguishes domains at the same
// addresses. This test's own program is the collector's ELF file, and the children's.
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "target-collector/sel4/domain/system_symbols.h"
#include "target-collector/sel4/domain/watched_domains.h"
#include "target-collector/sel4/run/collector_run.h"
#include "target-collector/wire/testing/socket_stream.h"
#include "target-collector/wire/zmtp_driver.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/simulated_machine.h"

// Where samples of the children stand.
extern "C" [[gnu::noinline]] int domain_leaf(int value) { return value * 3 + 1; }
extern "C" [[gnu::noinline]] int domain_caller(int value) { return domain_leaf(value) + 2; }

namespace perfleet::end_to_end::sel4_domain_test {
namespace {

using namespace sel4;

// A frame record of a child's stack, which both see at this address.
struct alignas(4096) Stack {
    std::array<std::uint64_t, 512> words;
};
Stack stack;

std::string hex(const void* address) {
    std::ostringstream text;
    text << "0x" << std::hex << reinterpret_cast<std::uintptr_t>(address);
    return text.str();
}

// Where the bytes mapped at `address` are in its file.
std::uint64_t file_offset_of(const void* address) {
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words{line};
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        std::uint64_t offset = 0;
        std::string access;
        char dash = 0;
        words >> std::hex >> begin >> dash >> end >> access >> offset;
        const auto wanted = reinterpret_cast<std::uintptr_t>(address);
        if (wanted >= begin && wanted < end) {
            return wanted - begin + offset;
        }
    }
    ADD_FAILURE() << "nothing is mapped there";
    return 0;
}

class Sel4Domain : public testing::Test {
protected:
    Sel4Domain() {
        for (const char* child : {"worker.elf", "server.elf"}) {
            std::filesystem::copy_file("/proc/self/exe", folder_ / child);
        }
    }

    [[nodiscard]] static std::string system() {
        return "<system>"
               "<memory_region name=\"worker_stack\" size=\"0x1_000\" />"
               "<memory_region name=\"shared\" size=\"0x1_000\" />"
               "<protection_domain name=\"perfleet\" priority=\"200\" stack_size=\"0x10000\">"
               "<program_image path=\"perfleet.elf\" />"
               "<map mr=\"console\" vaddr=\"0x9000000\" />"
               "<map mr=\"virtio\" vaddr=\"0xa000000\" />"
               "<map mr=\"port\" vaddr=\"0x10_200_000\" />"
               "<map mr=\"worker_stack\" vaddr=\"" +
               hex(&stack) +
               "\" />"
               "<map mr=\"shared\" vaddr=\"0x5000000\" />"
               "<irq irq=\"30\" id=\"7\" />"
               "<setvar symbol=\"perfleet_port_paddr\" region_paddr=\"port\" />"
               "<protection_domain name=\"worker\" id=\"5\" priority=\"100\">"
               "<program_image path=\"worker.elf\" />"
               "<map mr=\"worker_stack\" vaddr=\"" +
               hex(&stack) +
               "\" />"
               "</protection_domain>"
               "<protection_domain name=\"server\" id=\"9\" priority=\"110\">"
               "<program_image path=\"server.elf\" />"
               "<map mr=\"shared\" vaddr=\"0x5000000\" />"
               "</protection_domain>"
               "</protection_domain>"
               "</system>";
    }

    [[nodiscard]] Finished fill_in(const std::string& system, const std::vector<std::string>& more = {}) const {
        std::ofstream{folder_ / "my.system"} << system;
        std::vector<std::string> words{"python3",
                                       PERFLEET_DOMAIN_TOOL,
                                       "--system",
                                       folder_ / "my.system",
                                       "--search-path",
                                       folder_ / "",
                                       "--collector",
                                       "/proc/self/exe",
                                       "--target",
                                       "a-board",
                                       "--seconds",
                                       "12",
                                       "-o",
                                       folder_ / "perfleet.elf"};
        // The parent isn't this program.
        words[7] = std::filesystem::read_symlink("/proc/self/exe");
        words.insert(words.end(), more.begin(), more.end());
        return run(words);
    }
    // The table as the tool has written it into the file.
    [[nodiscard]] std::vector<char> table_bytes() const {
        std::ifstream file{folder_ / "perfleet.elf", std::ios::binary};
        file.seekg(static_cast<std::streamoff>(file_offset_of(&perfleet_domain_table)));
        std::vector<char> bytes(sizeof(DomainTable));
        file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        EXPECT_TRUE(file);
        return bytes;
    }
    [[nodiscard]] DomainTable table() const {
        DomainTable read;
        std::memcpy(&read, table_bytes().data(), sizeof read);
        return read;
    }

    const TemporaryFolder folder_;
};

TEST_F(Sel4Domain, IsToldWhatItsSystemDescriptionSays) {
    const Finished finished = fill_in(system());
    ASSERT_EQ(finished.ending.status, 0) << finished.error_output;
    const DomainTable read = table();
    ASSERT_TRUE(check_table(read).ok());
    EXPECT_EQ(read.run_seconds, 12U);
    EXPECT_EQ(read.stream, DomainStream::kVirtioPort);
    EXPECT_EQ(read.has_console, 1U);
    EXPECT_EQ(read.has_clock, 0U);
    EXPECT_EQ(read.tick_channel, 7U);
    EXPECT_NE(read.target_id, 0U);
    EXPECT_EQ(read.target_name(), "a-board");
    ASSERT_EQ(read.children().size(), 2U);
    const DomainChild& worker = read.children()[0];
    EXPECT_EQ(worker.id, 5U);
    EXPECT_EQ(worker.name(), "worker");
    EXPECT_EQ(worker.path(), std::filesystem::canonical(folder_ / "worker.elf"));
    EXPECT_EQ(worker.stack_address, reinterpret_cast<std::uintptr_t>(&stack));
    EXPECT_EQ(worker.stack_size_bytes, sizeof stack);
    EXPECT_FALSE(worker.build_id().empty());
    const auto code = file_offset_of(reinterpret_cast<const void*>(&domain_leaf));
    EXPECT_GT(worker.image_size_bytes, code);
    const DomainChild& server = read.children()[1];
    EXPECT_EQ(server.id, 9U);
    EXPECT_EQ(server.stack_size_bytes, 0U) << "what both have mapped is no stack";
    // The rest of the file is unchanged.
    EXPECT_EQ(std::filesystem::file_size(folder_ / "perfleet.elf"), std::filesystem::file_size("/proc/self/exe"));
}

// The layout is for programs of two versions.
TEST_F(Sel4Domain, ItsTableIsLaidOutAsWritten) {
    ASSERT_EQ(fill_in(system()).ending.status, 0);
    const std::vector<char> bytes = table_bytes();
    const auto integer = [&](std::size_t offset) {
        std::uint32_t value = 0;
        std::memcpy(&value, &bytes[offset], sizeof value);
        return value;
    };
    EXPECT_EQ(std::string(bytes.data(), 16), "perfleet-domain1");
    EXPECT_EQ(integer(16), 12U);
    EXPECT_EQ(integer(20), 1U);
    EXPECT_EQ(integer(24), 1U);
    EXPECT_EQ(integer(28), 0U);
    EXPECT_EQ(integer(32), 7U);
    EXPECT_EQ(integer(36), 2U);
    EXPECT_STREQ(&bytes[48], "a-board");
    EXPECT_EQ(integer(96), 5U);
    EXPECT_EQ(integer(96 + 4), table().children()[0].build_id().size());
    EXPECT_EQ(integer(96 + 40), sizeof stack);
    EXPECT_STREQ(&bytes[96 + 64], "worker");
    EXPECT_EQ(integer(96 + 304), 9U);
    EXPECT_STREQ(&bytes[96 + 304 + 64], "server");
}

TEST_F(Sel4Domain, ASystemThatCantWorkIsRefusedWithTheReason) {
    struct Case {
        std::string wrong;
        std::string instead;
        std::string reason;
    };
    const std::vector<Case> cases{
        {"stack_size=\"0x10000\"", "", "stack_size=\"0x10000\""},
        {"priority=\"100\"", "priority=\"200\"", "worker isn't below the collector's priority"},
        {"<irq irq=\"30\" id=\"7\" />", "", "isn't given the timer"},
        {"<map mr=\"port\" vaddr=\"0x10_200_000\" />", "", "mapped at 0x10200000"},
        {"symbol=\"perfleet_port_paddr\"", "symbol=\"another\"", "<setvar symbol=\"perfleet_port_paddr\""},
        {"path=\"worker.elf\"", "path=\"nobody.elf\"", "nobody.elf lies in none of"},
        {"path=\"perfleet.elf\"", "path=\"another.elf\"", "0 protection domains have the program image perfleet.elf"},
        {"id=\"5\"", "id=\"five\"", "id is 'five', no number"},
        {"</system>", "", "my.system:"},
    };
    for (const Case& each : cases) {
        std::string text = system();
        const std::size_t at = text.find(each.wrong);
        ASSERT_NE(at, std::string::npos) << each.wrong;
        text.replace(at, each.wrong.size(), each.instead);
        const Finished finished = fill_in(text);
        EXPECT_EQ(finished.ending.status, 2) << each.reason;
        EXPECT_NE(finished.error_output.find(each.reason), std::string::npos) << finished.error_output;
        EXPECT_FALSE(std::filesystem::exists(folder_ / "perfleet.elf"));
    }
    const Finished no_domain = fill_in(system(), {"--collector", "/bin/sh"});
    EXPECT_EQ(no_domain.ending.status, 2);
    EXPECT_NE(no_domain.error_output.find("it isn't perfleet's protection domain"), std::string::npos);
}

TEST_F(Sel4Domain, StreamsOverTheUartWhereItHasNoPort) {
    std::string text = system();
    const std::string port = "<map mr=\"virtio\" vaddr=\"0xa000000\" />";
    text.erase(text.find(port), port.size());
    ASSERT_EQ(fill_in(text).ending.status, 0);
    const DomainTable read = table();
    EXPECT_EQ(read.stream, DomainStream::kUart);
    EXPECT_EQ(read.has_console, 0U) << "nothing is printed between telemetry";
    EXPECT_TRUE(check_table(read).ok());
}

TEST_F(Sel4Domain, ATableThatIsNotSoundIsRefused) {
    EXPECT_EQ(check_table(perfleet_domain_table).error().code, ErrorCode::kNotFound) << "nobody has filled it in";
    ASSERT_EQ(fill_in(system()).ending.status, 0);
    const DomainTable sound = table();
    const auto fault_of = [&](const auto& spoil) {
        DomainTable spoilt = sound;
        spoil(spoilt);
        const auto checked = check_table(spoilt);
        EXPECT_FALSE(checked.ok());
        return checked.ok() ? Fault{} : checked.error();
    };
    EXPECT_EQ(fault_of([](DomainTable& of) { of.mark[15] = '2'; }).code, ErrorCode::kUnsupported);
    EXPECT_EQ(fault_of([](DomainTable& of) { of.stream = DomainStream{3}; }).where, DomainTable::kChildrenMax);
    EXPECT_EQ(fault_of([](DomainTable& of) { of.child_count = 16; }).where, DomainTable::kChildrenMax);
    EXPECT_EQ(fault_of([](DomainTable& of) { of.target_name_bytes.fill('x'); }).where, DomainTable::kChildrenMax);
    EXPECT_EQ(fault_of([](DomainTable& of) { of.all_children[1].id = 63; }).where, 1U);
    EXPECT_EQ(fault_of([](DomainTable& of) { of.all_children[1].path_bytes.fill('x'); }).where, 1U);
    EXPECT_EQ(fault_of([](DomainTable& of) { of.all_children[0].name_bytes[0] = 0; }).where, 0U);
    EXPECT_EQ(fault_of([](DomainTable& of) { of.all_children[0].build_id_size_bytes = 21; }).where, 0U);
    EXPECT_EQ(fault_of([](DomainTable& of) { of.all_children[0].stack_size_bytes = ~0ULL; }).where, 0U);
}

// Both children stand at the same address, each in a file of its own; one's stack can be read.
TEST_F(Sel4Domain, TellsDomainsApartThatLieAtTheSameAddresses) {
    ASSERT_EQ(fill_in(system()).ending.status, 0);
    const DomainTable read = table();
    const WatchedDomains watched{read};
    ASSERT_EQ(watched.thread_count(), 3U);
    const std::uint64_t image = read.children()[0].image_address;
    ASSERT_EQ(read.children()[1].image_address, image);
    const auto address_of = [&](auto* function) {
        return image + file_offset_of(reinterpret_cast<const void*>(function)) + 1;
    };
    stack.words[0] = 0;
    stack.words[1] = address_of(&domain_caller);
    SimulatedKernel kernel{{.mode = BenchmarkMode::kUtilisation, .architecture_name = "aarch64", .is_mcs = true}};
    for (const std::uint32_t child : {2U, 3U}) {
        kernel.registers[child] = {address_of(&domain_leaf), reinterpret_cast<std::uintptr_t>(&stack), false};
    }
    SimulatedMachine simulated{kernel, watched.thread_count(), {2, 3}};
    const Machine machine{simulated, nullptr, simulated, nullptr};
    const RunEvents events{kernel.features(), SimulatedMachine::kCyclesPerSecond / 1'000, simulated};
    TickTimer timer{simulated, 1};
    RunRequests requests{
        {.event_count = events.descriptions().size(), .cycles_per_second = SimulatedMachine::kCyclesPerSecond},
        timer,
        nullptr};
    const SmallTarget target{
        .target = TargetId{read.target_id},
        .name = read.target_name(),
        .architecture = "aarch64",
        .session = {},
        .clock = {.name = "pmccntr", .ticks_per_second = SimulatedMachine::kCyclesPerSecond, .linux_clockid = -1},
        .start_point = {kernel.now(), UtcNs{1'700'000'000 * kNsPerSecond}, 0},
        .events = events.descriptions(),
        .images = watched.images(),
        .threads = watched.threads(),
        .taker = &requests};
    const std::string data = folder_ / "data";
    GatewayProgram gateway{data};
    SocketStream socket{gateway.listen()};
    ZmtpDriver driver{socket};
    const auto collector = std::make_unique<SmallCollector>(target, driver);
    const auto run_of =
        std::make_unique<CollectorRun>(CollectorRun::Parts{.kernel = kernel,
                                                           .collector = *collector,
                                                           .events = events,
                                                           .machine = machine,
                                                           .timer = timer,
                                                           .requests = requests,
                                                           .cycles_per_second = SimulatedMachine::kCyclesPerSecond,
                                                           .thread_count = watched.thread_count(),
                                                           .sampled = watched.sampled()});
    run_of->begin();
    simulated.wait();
    run_of->turn({true, false});
    EXPECT_EQ(run_of->counts().samples, 0U) << "the gateway hasn't granted the session yet";
    while (run_of->counts().samples < 200) {
        run_of->turn(simulated.wait());
    }
    run_of->end_ticks();
    run_of->finish();
    EXPECT_TRUE(collector->status().finished);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);

    const auto rows = [&](const std::vector<std::string>& question) {
        std::vector<std::string> words{program_path("perfleet")};
        words.insert(words.end(), question.begin(), question.end());
        words.insert(words.end(), {"--data", data, "--format", "json"});
        const Finished asked = run(words);
        EXPECT_EQ(asked.ending.status, 0) << asked.error_output;
        const auto answer = nlohmann::json::parse(asked.output);
        EXPECT_EQ(answer.at("ledger").at("stored"), run_of->counts().samples) << answer.at("ledger").dump();
        std::map<std::string, std::uint64_t> counts;
        for (const auto& row : answer.at("rows")) {
            const std::string place = row.at(2).get<std::string>() + " " + row.at(1).get<std::string>() + " ";
            counts[place + row.at(0).get<std::string>()] = row.at(3);
        }
        return counts;
    };
    // Weighed: both have run for as long.
    std::map<std::string, std::uint64_t> top = rows({"top"});
    const std::uint64_t each = top["server server.elf domain_leaf"];
    EXPECT_GT(each, 0U);
    const std::map<std::string, std::uint64_t> wanted{{"server server.elf domain_leaf", each},
                                                      {"worker worker.elf domain_caller", 0},
                                                      {"worker worker.elf domain_leaf", each}};
    EXPECT_EQ(top, wanted);
    // Exports weigh such a session, too: its rows don't stand for one period each.
    const std::string folded = folder_ / "folded";
    const Finished exported = run({program_path("perfleet"), "export", "--data", data, "--to", "folded", "-o", folded});
    EXPECT_EQ(exported.ending.status, 0) << exported.error_output;
    std::ifstream lines{folded};
    std::uint64_t cycles = 0;
    for (std::string line; std::getline(lines, line);) {
        cycles += std::stoull(line.substr(line.rfind(' ') + 1));
    }
    EXPECT_EQ(cycles, 2 * each);
    EXPECT_GT(cycles, run_of->counts().samples);
}

}  // namespace
}  // namespace perfleet::end_to_end::sel4_domain_test
