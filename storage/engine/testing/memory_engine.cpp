#include "storage/engine/testing/memory_engine.h"

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
        const std::lock_guard lock{engine_.mutex_};  // whoever writes next sees that this one is done with them
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
