// perfleet-gateway: takes batches from collectors, keeps them in a RocksDB store, and lets a process beside it answer
// queries.
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/gateway.h"
#include "gateway/memory_plan.h"
#include "gateway/process/open_store.h"
#include "gateway/process/query_process.h"
#include "gateway/process/stop_signal.h"
#include "gateway/wire/endpoint.h"
#include "schemas/vocabulary/limits.h"
#include "schemas/vocabulary/time.h"
#include "storage/store/store.h"

namespace {

using namespace perfleet;

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr std::string_view kNoQueries = "none";

struct Arguments {
    std::string data;
    std::vector<std::string> listen{"tcp://127.0.0.1:7411"};
    std::string query{"tcp://127.0.0.1:7412"};
    double stop_within_s = static_cast<double>(StopSignal::kStopWithinNs) / kNsPerSecond;
    std::uint64_t memory_bytes = limits::kGatewayMemorySizeBytes;
};

void say(std::string_view text) {
    std::fprintf(stderr, "perfleet-gateway: %.*s\n", static_cast<int>(text.size()), text.data());
}

int fail(const Error& error) {
    say(error.message);
    return error.code == ErrorCode::kUsage ? kExitUsage : kExitFailure;
}

// What is acknowledged is on disk, and what isn't is still with the collectors: ending at once loses nothing.
void end_by_force() {
    say("didn't stop in time (a disk that doesn't answer?) and ends now; what isn't acknowledged its collectors still "
        "have");
    _exit(kExitFailure);
}

std::uint64_t nanoseconds(double seconds) { return static_cast<std::uint64_t>(seconds * kNsPerSecond); }

// Each collector takes a descriptor.
void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

Result<std::unique_ptr<QueryProcess>> start_queries(const Arguments& arguments) {
    if (arguments.query == kNoQueries) {
        return std::unique_ptr<QueryProcess>{};
    }
    std::error_code error;
    const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) {
        return error_from_errno(error.value(), "/proc/self/exe");
    }
    return QueryProcess::start({(own.parent_path() / "perfleet-query").string(), arguments.data, arguments.query, say});
}

std::string joined(const std::vector<std::string>& endpoints) {
    std::string text;
    for (const std::string& endpoint : endpoints) {
        text += (text.empty() ? "" : ",") + endpoint;
    }
    return text;
}

int run(const Arguments& arguments) {
    raise_descriptor_limit();
    std::signal(SIGPIPE, SIG_IGN);
    // First, so that everything else is closed before it.
    auto stop = StopSignal::catch_signals(end_by_force, nanoseconds(arguments.stop_within_s));
    if (!stop) {
        return fail(stop.error());
    }
    for (const std::string& endpoint : arguments.listen) {
        if (const auto checked = check_listen_endpoint(endpoint); !checked) {
            return fail(checked.error());  // before the folder is touched
        }
    }
    const MemoryPlan memory{arguments.memory_bytes};
    auto store = open_gateway_store(arguments.data, memory.store_bytes());
    if (!store) {
        return fail(store.error());
    }
    TransportContext context;
    auto gateway = Gateway::open({arguments.listen, say, memory}, context, **store);
    if (!gateway) {
        return fail(gateway.error());
    }
    const auto queries = start_queries(arguments);
    if (!queries) {
        return fail(queries.error());
    }
    const std::string query = *queries == nullptr ? std::string{kNoQueries} : (*queries)->endpoint();
    std::printf("ready listen=%s query=%s\n", joined((*gateway)->endpoints()).c_str(), query.c_str());
    std::fflush(stdout);
    const auto served = (*gateway)->serve((*stop)->flag(), (*stop)->fd());
    return served ? 0 : fail(served.error());
}

}  // namespace

int main(int argc, char** argv) {
    Arguments arguments;
    CLI::App app{
        "Takes what perfleet collectors send and keeps it in a folder. Prints one line `ready listen=... "
        "query=...` when it serves; stops on SIGTERM or Ctrl-C.",
        "perfleet-gateway"};
    app.set_version_flag("--version", "perfleet-gateway " PERFLEET_VERSION);
    app.add_option("--data", arguments.data, "Folder of the store; created when missing")->required()->type_name("DIR");
    app.add_option(
           "--listen", arguments.listen,
           "Where collectors come in: tcp://127.0.0.1:PORT (* takes a free port), tcp://[::1]:PORT, ipc://PATH; "
           "several times for several")
        ->type_name("ENDPOINT")
        ->capture_default_str();
    app.add_option("--query", arguments.query, "Where queries are answered; `none`: nowhere")
        ->type_name("ENDPOINT")
        ->capture_default_str();
    app.add_option("--stop-within", arguments.stop_within_s,
                   "Seconds that stopping may take; then it ends by force, and loses nothing by that")
        ->type_name("S")
        ->check(CLI::Range(0.1, 3600.0))
        ->capture_default_str();
    app.add_option("--memory", arguments.memory_bytes,
                   "All the memory that it may take, however many collectors come: bytes, or with k, m, g (the query "
                   "process comes on top)")
        ->type_name("BYTES")
        ->default_str("1g")
        ->transform(CLI::AsSizeValue{false})
        ->check(CLI::Range(std::uint64_t{MemoryPlan::kSizeBytesMin}, std::uint64_t{1} << 44,
                           "at least " + std::to_string(MemoryPlan::kSizeBytesMin >> 20) + "m"));
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : kExitUsage;
    }
    return run(arguments);
}
