// Periodically fetches symbols that a gateway's store lacks from debuginfod servers. Runs `perfleet symbols fetch`
// beside the gateway, so that neither downloads nor hostile ELF files reach the process that ingests. The program hands
// over symbols through the control socket (admission/symbol_order.h).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"

namespace perfleet {

class SymbolFetch {
public:
    struct Options {
        std::string program;  // path of perfleet
        std::string data;
        std::string servers;  // as in DEBUGINFOD_URLS
        LogSink log;          // called on the thread that waits for the program
        std::chrono::milliseconds pause = kPauseMin;
    };

    // The next run begins this long after the last one's end, or ten times as long as that one took.
    static constexpr std::chrono::milliseconds kPauseMin{60'000};

    // Errors: kNotFound (no such program).
    [[nodiscard]] static Result<std::unique_ptr<SymbolFetch>> start(Options options);

    // Ends the program if it is running.
    virtual ~SymbolFetch() = default;
};

}  // namespace perfleet
