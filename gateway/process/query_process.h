// The program that answers queries beside a gateway: started, watched, started again when it dies, and stopped at the
// end. Neither a heavy query nor a hostile ELF file reaches the process that ingests.
//
// All forks are made by one thread that lives as long as this object, for the kernel's parent-death signal follows the
// thread that forked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

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
        std::string config_file;  // empty: its default ones
        std::string key_file;     // its secret key, and the folder of those who may ask; both or none
        std::string clients_folder;
        std::string log_level;  // of what it writes on standard error itself, with which it shares ours; as --log-level
        std::string log_format;
        LogSink log;  // called on the watching thread
    };

    // Waits for its line `ready query=ENDPOINT`, at most kReadyWithinNs. Errors: kNotFound (no such program), kIo (it
    // ended, with its own words on standard error), kUnavailable (it didn't become ready in time).
    [[nodiscard]] static Result<std::unique_ptr<QueryProcess>> start(Options options);

    // Ends the program: politely, and after kStopWithinNs by force.
    virtual ~QueryProcess() = default;

    // Where it answers; the same after it was started again.
    [[nodiscard]] virtual const std::string& endpoint() const = 0;

    // How often it ended and was started again. From any thread.
    [[nodiscard]] virtual std::uint64_t restart_count() const = 0;

    // What its socket saw of clients' connections, a quarter of a second ago; counted from 0 again when it was started
    // again. From any thread.
    [[nodiscard]] virtual TransportCounts transport_counts() const = 0;

    static constexpr std::uint64_t kReadyWithinNs =
        45'000'000'000;  // a cluster may take 30 s to say that it doesn't answer
    static constexpr std::uint64_t kStopWithinNs = 3'000'000'000;
    static constexpr std::uint64_t kRestartAfterNsMin = 100'000'000;
    static constexpr std::uint64_t kRestartAfterNsMax = 10'000'000'000;
};

}  // namespace perfleet
