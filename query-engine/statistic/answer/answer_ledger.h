// Collects the series that an answer reads and sums their ledgers. Call sum() after all rows were read: the scan finds
// damaged blocks only by reading them.
//
// One thread. Borrows the scan.
#pragma once

#include <cstddef>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "query-engine/scan/scan.h"

namespace perfleet {

class AnswerLedger {
public:
    explicit AnswerLedger(const Scan& scan) : scan_{scan} {}

    // Adds a series; a series that is added twice counts once.
    void add(std::size_t session_index, Series series) {
        if (seen_.emplace(session_index, series).second) {
            all_.emplace_back(session_index, series);
        }
    }
    [[nodiscard]] std::size_t series_count() const { return all_.size(); }

    // The ledger of all added series and of those that the scan left out, in this order; their warnings are put before
    // the others.
    [[nodiscard]] Ledger sum(std::vector<std::string>& warnings) const {
        Ledger ledger;
        std::vector<std::string> of_ledgers;
        auto all = all_;
        for (const auto& left_out : scan_.left_out()) {
            if (!seen_.contains(left_out)) {
                all.push_back(left_out);
            }
        }
        for (const auto& [session_index, series] : all) {
            ledger.add(scan_.ledger(session_index, series, of_ledgers));
        }
        warnings.insert(warnings.begin(), std::make_move_iterator(of_ledgers.begin()),
                        std::make_move_iterator(of_ledgers.end()));
        return ledger;
    }

private:
    const Scan& scan_;
    std::set<std::pair<std::size_t, Series>> seen_;
    std::vector<std::pair<std::size_t, Series>> all_;
};

}  // namespace perfleet
