// Adds symbols to a data folder: to the store or, while a gateway or recorder writes to it, through that process.
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
    // Errors: of the store; kBusy: the process that writes there takes no requests.
    [[nodiscard]] static Result<SymbolWriter> open(const std::string& folder);

    // The store's content; if another process writes there, as of open().
    [[nodiscard]] const StoreReader& reader() const { return store_ != nullptr ? *store_ : *reader_; }

    // True: stored; false: the store has them already. Errors: of the store, or the writing process's answer.
    [[nodiscard]] Result<bool> put(const BuildSymbols& symbols);

private:
    SymbolWriter() = default;
    [[nodiscard]] Result<Done> hand_over(const BuildSymbols& symbols) const;

    std::string folder_;
    std::unique_ptr<Store> store_;         // null: another process writes
    std::unique_ptr<StoreReader> reader_;  // if another process writes
};

}  // namespace perfleet
