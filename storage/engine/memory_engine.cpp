#include "storage/engine/memory_engine.h"

namespace perfleet {

Result<std::optional<std::string>> MemoryEngine::get(std::string_view key) const {
    const std::lock_guard lock{mutex_};
    const auto found = values_->find(key);
    return found == values_->end() ? std::optional<std::string>{} : *found->second;
}

// A visitor may read from the store itself, so the lock isn't held while it runs; it sees one moment of the store.
Result<Done> MemoryEngine::visit(
    const KeyRange& range, const std::function<Visit(std::string_view key, std::string_view value)>& visitor) const {
    std::shared_ptr<const Values> values;
    {
        const std::lock_guard lock{mutex_};
        values = values_;
    }
    for (auto at = values->lower_bound(range.begin); at != values->end() && at->first < range.end; ++at) {
        if (visitor(at->first, *at->second) == Visit::kStop) {
            break;
        }
    }
    const std::lock_guard lock{mutex_};  // whoever writes next sees that this one is done with them
    values.reset();
    return Done{};
}

MemoryEngine::Values& MemoryEngine::own_values() {
    if (values_.use_count() != 1) {
        values_ = std::make_shared<Values>(*values_);
    }
    return *values_;
}

Result<Done> MemoryEngine::write(const Domain&, Guard, const Changes& changes) {
    const std::lock_guard lock{mutex_};
    Values& values = own_values();
    for (const std::string& key : changes.deletes) {
        values.erase(key);
    }
    for (const Changes::Put& put : changes.puts) {
        values[put.key] = std::make_shared<const std::string>(put.value);
    }
    return Done{};
}

Result<std::uint64_t> MemoryEngine::size_bytes(const KeyRange& range) const {
    const std::lock_guard lock{mutex_};
    std::uint64_t sum = 0;
    for (auto at = values_->lower_bound(range.begin); at != values_->end() && at->first < range.end; ++at) {
        sum += at->first.size() + at->second->size();
    }
    return sum;
}

Result<Done> MemoryEngine::erase(const KeyRange& range, std::atomic<bool>*) {
    const std::lock_guard lock{mutex_};
    Values& values = own_values();
    values.erase(values.lower_bound(range.begin), values.lower_bound(range.end));
    return Done{};
}

}  // namespace perfleet
