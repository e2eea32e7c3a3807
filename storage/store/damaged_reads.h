// Visits that go on behind what is damaged.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "storage/store/engine.h"

namespace perfleet {

// Keys that can't be read, `begin` included, `end` excluded, and what the engine said of them: it names the file.
struct DamagedRange {
    KeyRange keys;
    Error error;
};

// As Engine::visit, but of a range that is damaged in places everything else is visited. Where damages lie close
// together, intact keys between them may be passed over: they are in the range that is told. Errors: only others than
// damage.
[[nodiscard]] Result<Done> visit_readable(
    const Engine& engine, const KeyRange& range,
    const std::function<Visit(std::string_view key, std::string_view value)>& visitor,
    const std::function<void(const DamagedRange&)>& on_damage);

// Whether it tells of damaged or missing bytes, so that others can still be read.
[[nodiscard]] bool is_damage(const Error& error);

// Sentences about damage, each once, at most kMax. Threads: any.
class DamageNotes {
public:
    void add(const std::string& text);
    void clear();
    [[nodiscard]] std::vector<std::string> read() const;

private:
    static constexpr std::size_t kMax = 64;

    mutable std::mutex mutex_;
    std::set<std::string> notes_;
};

}  // namespace perfleet
