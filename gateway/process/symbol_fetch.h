// Fetches the symbols that a gateway's store lacks from debuginfod servers, now and again: by running `perfleet symbols
// fetch` beside the gateway, so that neither downloads nor hostile ELF files reach the process that ingests. What it
// finds it hands over through the control socket (admission/symbol_order.h).
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
        std::string servers;  // as DEBUGINFOD_URLS has them
        LogSink log;          // called on the thread that waits for the program
        std::chrono::milliseconds pause = kPauseMin;
    };

    // The next run begins this long after the last one's end, or ten times as long as that one took.
    static constexpr std::chrono::milliseconds kPauseMin{60'000};

    // Errors: kNotFound (no such program).
    [[nodiscard]] static Result<std::unique_ptr<SymbolFetch>> start(Options options);

    // Ends the program that runs.
    virtual ~SymbolFetch() = default;
};

}  // namespace perfleet
