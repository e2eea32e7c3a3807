// Visits that go on behind what is damaged.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "storage/engine/engine.h"
#include "storage/model/visit.h"

namespace perfleet {

// As Engine::visit, but of a range that is damaged in places everything else is visited: what stands outside of the
// places, and in them what other files hold than the damaged one, which may be older than what stood there, or have
// been deleted. Each place is told before what is visited in it; what the engine lost with whole files comes first.
// Where damages of one file lie close together, intact keys of it between them may be passed over: they are in the
// range that is told. Errors: only others than damage.
[[nodiscard]] Result<Done> visit_readable(
    const Engine& engine, const KeyRange& range,
    const std::function<Visit(std::string_view key, std::string_view value)>& visitor,
    const std::function<void(const DamagedRange&)>& on_damage);

// The same without what stands in the places: so nothing old is taken for what is there. For who changes what it reads.
[[nodiscard]] Result<Done> visit_undamaged(
    const Engine& engine, const KeyRange& range,
    const std::function<Visit(std::string_view key, std::string_view value)>& visitor,
    const std::function<void(const DamagedRange&)>& on_damage);

// As Engine::get; where what stands there can't be read, what another file holds, which may be older, or nothing. Then
// `on_damage` is told. Errors: only others than damage.
[[nodiscard]] Result<std::optional<std::string>> get_readable(
    const Engine& engine, const std::string& key, const std::function<void(const DamagedRange&)>& on_damage);

// Whether a file is lost whose first key this was.
[[nodiscard]] bool begins_lost_file(const Engine& engine, std::string_view key);

// Whether it tells of damaged or missing bytes, so that others can still be read.
[[nodiscard]] bool is_damage(const Error& error);

// An error of what stands under this key, naming it.
[[nodiscard]] Error at_key(std::string_view key, const Error& error);

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
