// crowd_targets: many simulated targets on one gateway. ../crowd.py runs it.
//
//   crowd_targets --make-keys DIR …               writes keys and enrolments for all targets into an empty folder
//   crowd_targets --time-keys DIR                 reads the enrolments as a gateway does; prints one JSON object
//   crowd_targets --gateway ENDPOINT [--keys DIR] [--connect-seconds N] [--timeout N] …    sends; prints one JSON
//   object crowd_targets --check DIR …                   compares a store with what was sent; prints one JSON object
//
//   … = [--first N] [--targets N] [--seconds N] [--interval-ms N] [--rows N], the same each time
#include <sodium.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/benchmark/crowd/crowd.h"
#include "tests/benchmark/crowd/crowd_keys.h"
#include "tests/benchmark/crowd/fail.h"
#include "tests/benchmark/crowd/stored_check.h"

namespace perfleet {
namespace {

struct Command {
    std::string gateway;
    std::string check;
    std::string make_keys;
    std::string time_keys;
    std::string keys;
    CrowdPlan plan;
};

[[noreturn]] void usage() {
    std::fprintf(stderr,
                 "usage: crowd_targets --gateway ENDPOINT [--keys DIR] [--connect-seconds N] [--timeout N] …\n"
                 "       crowd_targets --make-keys DIR …\n"
                 "       crowd_targets --time-keys DIR\n"
                 "       crowd_targets --check DIR …\n"
                 "       … = [--first N] [--targets N] [--seconds N] [--interval-ms N] [--rows N]\n");
    std::exit(2);
}

bool parse_option(Command& command, std::string_view name, const char* value) {
    CrowdPlan& plan = command.plan;
    const auto integer = [&] { return std::strtoull(value, nullptr, 10); };
    if (name == "--gateway") {
        command.gateway = value;
    } else if (name == "--check") {
        command.check = value;
    } else if (name == "--make-keys") {
        command.make_keys = value;
    } else if (name == "--time-keys") {
        command.time_keys = value;
    } else if (name == "--keys") {
        command.keys = value;
    } else if (name == "--first") {
        plan.first = integer();
    } else if (name == "--targets") {
        plan.target_count = integer();
    } else if (name == "--seconds") {
        plan.seconds = std::strtod(value, nullptr);
    } else if (name == "--interval-ms") {
        plan.interval_ms = std::max<std::uint64_t>(1, integer());
    } else if (name == "--rows") {
        plan.row_count = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, integer()));
    } else if (name == "--connect-seconds") {
        plan.connect_seconds = std::strtod(value, nullptr);
    } else if (name == "--timeout") {
        plan.timeout_s = std::strtod(value, nullptr);
    } else {
        return false;
    }
    return true;
}

Command parse(int argc, char** argv) {
    Command command;
    bool is_good = argc % 2 == 1;
    for (int i = 1; i + 1 < argc && is_good; i += 2) {
        is_good = parse_option(command, argv[i], argv[i + 1]);
    }
    const int sort_count = static_cast<int>(!command.gateway.empty()) + static_cast<int>(!command.check.empty()) +
                           static_cast<int>(!command.make_keys.empty()) + static_cast<int>(!command.time_keys.empty());
    if (!is_good || sort_count != 1 || command.plan.target_count == 0) {
        usage();
    }
    return command;
}

int send(const Command& command) {
    const auto address = ZmtpClient::parse_endpoint(command.gateway);
    if (!address.has_value()) {
        fail("--gateway " + command.gateway + ": give tcp://ADDRESS:PORT with an IPv4 address");
    }
    std::vector<CurveClientKeys> keys;
    if (!command.keys.empty()) {
        auto loaded = load_crowd_keys(command.keys, command.plan);
        if (!loaded.ok()) {
            fail(loaded.error().message);
        }
        keys = std::move(*loaded);
    }
    const CrowdFigures figures = Crowd{command.plan, *address, std::move(keys)}.run();
    std::puts(figures.json().c_str());
    return figures.finished == command.plan.target_count && figures.refused == 0 ? 0 : 1;
}

// Prints the figures, even if something failed; an error ends the program.
template <class Value>
const Value& shown(const Result<Value>& result) {
    if (!result.ok()) {
        fail(result.error().message);
    }
    if constexpr (requires { result->json(); }) {
        std::puts(result->json().c_str());
    }
    return *result;
}

int run(const Command& command) {
    if (!command.make_keys.empty()) {
        shown(make_crowd_keys(command.make_keys, command.plan));
    } else if (!command.time_keys.empty()) {
        shown(measure_key_folder(command.time_keys));
    } else if (!command.check.empty()) {
        return shown(check_stored_crowd(command.check, command.plan)).targets_wrong == 0 ? 0 : 1;
    } else {
        return send(command);
    }
    return 0;
}

}  // namespace
}  // namespace perfleet

int main(int argc, char** argv) {
    if (sodium_init() < 0) {
        std::fprintf(stderr, "crowd_targets: libsodium doesn't start\n");
        return 1;
    }
    return perfleet::run(perfleet::parse(argc, argv));
}
