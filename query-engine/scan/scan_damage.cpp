#include <iterator>

#include "query-engine/scan/scan.h"

namespace perfleet {

void ScanDamage::add_rows(std::size_t session_index, EpochNumber epoch, Series series, Why why,
                          std::uint64_t row_count) {
    const std::lock_guard lock{mutex_};
    rows_[{session_index, series, epoch}] = {why, row_count};
}

void ScanDamage::add_note(std::size_t session_index, const std::string& text) {
    const std::lock_guard lock{mutex_};
    std::set<std::string>& notes = notes_[session_index];
    notes.insert(text);
    if (notes.size() > kNotesMax) {  // sorted: the kept notes don't depend on their order of arrival
        notes.erase(std::prev(notes.end()));
    }
}

void ScanDamage::leave_out(std::size_t session_index, Series series) {
    const std::lock_guard lock{mutex_};
    left_out_.emplace(session_index, series);
}

std::vector<std::pair<std::size_t, Series>> ScanDamage::left_out() const {
    const std::lock_guard lock{mutex_};
    return {left_out_.begin(), left_out_.end()};
}

std::uint64_t ScanDamage::rows(std::size_t session_index, Series series, Why why) const {
    const std::lock_guard lock{mutex_};
    std::uint64_t sum = 0;
    for (auto at = rows_.lower_bound({session_index, series, EpochNumber{0}});
         at != rows_.end() && std::get<0>(at->first) == session_index && std::get<1>(at->first) == series; ++at) {
        sum += at->second.first == why ? at->second.second : 0;
    }
    return sum;
}

std::vector<std::string> ScanDamage::notes(std::size_t session_index) const {
    const std::lock_guard lock{mutex_};
    const auto found = notes_.find(session_index);
    return found == notes_.end() ? std::vector<std::string>{}
                                 : std::vector<std::string>{found->second.begin(), found->second.end()};
}

}  // namespace perfleet
