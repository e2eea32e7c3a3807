// Runs the program that answers queries beside a gateway: starts it, restarts it when it dies, and stops it at the end.
// Neither a heavy query nor a hostile ELF file reaches the process that ingests.
//
// One thread, which lives as long as this object, makes all forks: the kernel sends the parent-death signal when the
// thread that forked ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schemas/peers/transport_counts.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"

namespace perfleet {

class QueryProcess {
public:
    struct Options {
        std::string program;  // path of perfleet-query
        std::string data;
        std::string listen;       // endpoint; `tcp://127.0.0.1:*` takes a free port
        std::string config_file;  // empty: the default files
        std::string key_file;     // its secret key; with the folder of query clients' public keys, or neither
        std::string clients_folder;
        std::string http;                         // HOST:PORT of its HTTP; empty: none
        std::vector<std::string> http_arguments;  // beside --http
        std::string log_level;  // of its log on standard error, which it shares with this process; as --log-level
        std::string log_format;
        LogSink log;  // called on the watching thread
    };

    // Waits at most kReadyWithinNs for its line `ready query=ENDPOINT`, with HTTP `http=HOST:PORT`, too. Errors:
    // kNotFound (no such program), kIo (it ended; its standard error says why), kUnavailable (not ready in time).
    [[nodiscard]] static Result<std::unique_ptr<QueryProcess>> start(Options options);

    // Ends the program: politely, and after kStopWithinNs by force.
    virtual ~QueryProcess() = default;

    // The endpoint where it answers queries; restarts keep it.
    [[nodiscard]] virtual const std::string& endpoint() const = 0;

    // Where it answers HTTP, HOST:PORT; empty: nowhere. Restarts keep it.
    [[nodiscard]] virtual const std::string& http_address() const = 0;

    // How often it has died and was restarted. From any thread.
    [[nodiscard]] virtual std::uint64_t restart_count() const = 0;

    // Counts of its clients' connections, about a quarter of a second old; they begin at 0 again after a restart. From
    // any thread.
    [[nodiscard]] virtual TransportCounts transport_counts() const = 0;

    static constexpr std::uint64_t kReadyWithinNs =
        45'000'000'000;  // connecting to a Ceph cluster may take 30 s to fail
    static constexpr std::uint64_t kStopWithinNs = 3'000'000'000;
    static constexpr std::uint64_t kRestartAfterNsMin = 100'000'000;
    static constexpr std::uint64_t kRestartAfterNsMax = 10'000'000'000;
};

}  // namespace perfleet
