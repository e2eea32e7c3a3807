// Shows text page by page, as git does.
#pragma once

#include <cstdio>
#include <memory>
#include <string_view>

#include "schemas/vocabulary/error.h"

namespace perfleet {

// Writes the text to standard output; if that is a terminal, through the pager that PERFLEET_PAGER, else PAGER names
// (default: less -FRX, which shows what fits the screen and ends), and waits for its end. "cat" or an empty text is no
// pager, and so is one that the shell doesn't find. That a reader leaves before the end is no error. Errors: kIo.
[[nodiscard]] Result<Done> print_paged(std::string_view text);

// The same for text that comes piece by piece.
class Pager {
public:
    // Null where standard output is no terminal, or there is no pager.
    [[nodiscard]] static std::unique_ptr<Pager> start();
    ~Pager();  // waits for its end
    Pager(const Pager&) = delete;
    Pager& operator=(const Pager&) = delete;

    // False: its reader has left.
    [[nodiscard]] bool write(std::string_view text);

private:
    class IgnoredSignals;
    explicit Pager(std::FILE* pipe);
    std::FILE* pipe_;
    std::unique_ptr<IgnoredSignals> ignored_;
};

}  // namespace perfleet
