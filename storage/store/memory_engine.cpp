#include "storage/store/memory_engine.h"

#include "storage/store/keyed_store.h"

namespace perfleet {

Result<std::optional<std::string>> MemoryEngine::get(std::string_view key) const {
    const std::lock_guard lock{mutex_};
    const auto found = values_.find(key);
    return found == values_.end() ? std::optional<std::string>{} : *found->second;
}

// A visitor may read from the store itself, so the lock isn't held while it runs.
Result<Done> MemoryEngine::visit(
    const KeyRange& range, const std::function<Visit(std::string_view key, std::string_view value)>& visitor) const {
    std::string key;
    std::shared_ptr<const std::string> value;
    const auto step = [&](bool is_first) {
        const std::lock_guard lock{mutex_};
        const auto next = is_first ? values_.lower_bound(range.begin) : values_.upper_bound(key);
        if (next == values_.end() || next->first >= range.end) {
            return false;
        }
        key = next->first;
        value = next->second;
        return true;
    };
    for (bool more = step(true); more; more = step(false)) {
        if (visitor(key, *value) == Visit::kStop) {
            break;
        }
    }
    return Done{};
}

Result<Done> MemoryEngine::write(const Changes& changes) {
    const std::lock_guard lock{mutex_};
    for (const std::string& key : changes.deletes) {
        values_.erase(key);
    }
    for (const Changes::Put& put : changes.puts) {
        values_[put.key] = std::make_shared<const std::string>(put.value);
    }
    return Done{};
}

Result<Done> MemoryEngine::erase(const KeyRange& range) {
    const std::lock_guard lock{mutex_};
    values_.erase(values_.lower_bound(range.begin), values_.lower_bound(range.end));
    return Done{};
}

std::unique_ptr<Store> make_memory_store() { return make_keyed_store(std::make_unique<MemoryEngine>()); }

}  // namespace perfleet
