// Shows text page by page, as git does.
#pragma once

#include <cstdio>
#include <memory>
#include <string_view>

#include "schemas/vocabulary/error.h"
#include "tools/perfleet/shell/ignored_signals.h"

namespace perfleet {

// Writes the text to standard output; on a terminal through the pager that PERFLEET_PAGER, else PAGER names (default:
// less -FRX, which exits if the text fits the screen), and waits for its end. "cat", an empty name and a name that the
// shell doesn't find mean no pager. A reader that quits early is no error. Errors: kIo.
[[nodiscard]] Result<Done> print_paged(std::string_view text);

// The same for text in pieces.
class Pager {
public:
    // Null if standard output is no terminal, or there is no pager.
    [[nodiscard]] static std::unique_ptr<Pager> start();
    ~Pager();  // waits for its end
    Pager(const Pager&) = delete;
    Pager& operator=(const Pager&) = delete;

    // False: the reader has quit.
    [[nodiscard]] bool write(std::string_view text);

private:
    explicit Pager(std::FILE* pipe);
    std::FILE* pipe_;
    IgnoredSignals ignored_;  // Ctrl-C is for the pager; one that was quit reads no more (SIGPIPE)
};

}  // namespace perfleet
