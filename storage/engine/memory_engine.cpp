#include "storage/engine/memory_engine.h"

namespace perfleet {

Result<std::optional<std::string>> MemoryEngine::get(std::string_view key) const {
    const std::lock_guard lock{mutex_};
    const auto found = values_->find(key);
    return found == values_->end() ? std::optional<std::string>{} : *found->second;
}

class MemoryEngine::Cursor final : public EngineCursor {
public:
    Cursor(const MemoryEngine& engine, const KeyRange& range) : engine_{engine}, end_{range.end} {
        const std::lock_guard lock{engine_.mutex_};
        values_ = engine_.values_;
        at_ = values_->lower_bound(range.begin);
    }
    ~Cursor() override {
        const std::lock_guard lock{engine_.mutex_};  // the next writer must see that the cursor has released the values
        values_.reset();
    }

    void seek(std::string_view first) override {
        key_.clear();
        at_ = values_->lower_bound(first);
    }

    [[nodiscard]] Result<bool> next() override {
        if (at_ == values_->end() || at_->first >= end_) {
            return false;
        }
        key_ = at_->first;
        value_ = *at_->second;
        ++at_;
        return true;
    }

private:
    const MemoryEngine& engine_;
    std::string end_;
    std::shared_ptr<const Values> values_;
    Values::const_iterator at_;
};

std::unique_ptr<EngineCursor> MemoryEngine::cursor(const KeyRange& range, const std::set<EngineFile>&) const {
    return std::make_unique<Cursor>(*this, range);
}

MemoryEngine::Values& MemoryEngine::own_values() {
    if (values_.use_count() != 1) {
        values_ = std::make_shared<Values>(*values_);
    }
    return *values_;
}

Result<Done> MemoryEngine::write(const Domain&, Guard, const Changes& changes) {
    std::uint64_t added_bytes = 0;
    for (const Changes::Put& put : changes.puts) {
        added_bytes += put.key.size() + put.value.size();
    }
    const std::lock_guard lock{mutex_};
    if (added_bytes > size_bytes_max_ - size_bytes_) {
        return Error{ErrorCode::kTooLarge, "a store in memory takes at most " + std::to_string(size_bytes_max_) +
                                               " bytes (perfleet import FILE puts it into a store on disk)"};
    }
    Values& values = own_values();
    const auto forget = [&](const std::string& key) {
        if (const auto found = values.find(key); found != values.end()) {
            size_bytes_ -= found->first.size() + found->second->size();
            values.erase(found);
        }
    };
    for (const std::string& key : changes.deletes) {
        forget(key);
    }
    for (const Changes::Put& put : changes.puts) {
        forget(put.key);
        values.emplace(put.key, std::make_shared<const std::string>(put.value));
    }
    size_bytes_ += added_bytes;
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
    const auto end = values.lower_bound(range.end);
    for (auto at = values.lower_bound(range.begin); at != end; at = values.erase(at)) {
        size_bytes_ -= at->first.size() + at->second->size();
    }
    return Done{};
}

}  // namespace perfleet
