// Adds symbols to a data folder: in the store, or, while a gateway or recorder writes to it, through that one.
//
// One thread.
#pragma once

#include <memory>
#include <string>

#include "schemas/vocabulary/error.h"
#include "storage/read/reader.h"
#include "storage/store/store.h"
#include "tools/perfleet/store/symbol_content.h"

namespace perfleet {

class SymbolWriter {
public:
    // Errors: of the store; kBusy: a process writes there that takes no requests.
    [[nodiscard]] static Result<SymbolWriter> open(const std::string& folder);

    // What the store has; of a process that writes there: what it had when this was opened.
    [[nodiscard]] const StoreReader& reader() const { return store_ != nullptr ? *store_ : *reader_; }

    // True: stored. What is there stays. Errors: of the store, or what the process that writes there says.
    [[nodiscard]] Result<bool> put(const BuildSymbols& symbols);

private:
    SymbolWriter() = default;
    [[nodiscard]] Result<Done> hand_over(const BuildSymbols& symbols) const;

    std::string folder_;
    std::unique_ptr<Store> store_;         // null: another process writes
    std::unique_ptr<StoreReader> reader_;  // then
};

}  // namespace perfleet
