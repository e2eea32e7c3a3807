// Reads that go on behind what is damaged.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "storage/engine/engine.h"
#include "storage/model/visit.h"

namespace perfleet {

// As EngineCursor, but of a range that is damaged in places everything else is read: what stands outside of the places,
// and in them what other files hold than the damaged one, which may be older than what stood there, or have been
// deleted. Each place is a gap before what is read in it; what the engine lost with whole files comes first. Where
// damages of one file lie close together, intact keys of it between them may be passed over: they are in the gap. What
// follows a gap is as it is then, not as it was when the cursor was opened. Errors: only others than damage.
class ReadableCursor {
public:
    enum class InGaps : std::uint8_t { kOtherFiles, kNothing };  // nothing: so that nothing old is taken for what is
    ReadableCursor(const Engine& engine, const KeyRange& range, InGaps in_gaps = InGaps::kOtherFiles);

    [[nodiscard]] Result<CursorStep> next();
    // Passes over gaps; false at the end.
    [[nodiscard]] Result<bool> next_item();
    // As EngineCursor's; does nothing where it is behind `first` already. What is damaged before that is no gap.
    void seek(std::string_view first);
    [[nodiscard]] std::string_view key() const { return parts_.back().cursor->key(); }      // after kItem
    [[nodiscard]] std::string_view value() const { return parts_.back().cursor->value(); }  // likewise
    [[nodiscard]] const DamagedRange& gap() const { return gap_; }                          // after kGap

private:
    // A range that is still to be read, with some files left out. Those behind it in the list are read before it.
    struct Part {
        KeyRange rest;
        std::set<EngineFile> without;
        std::unique_ptr<EngineCursor> cursor;
    };
    void pass_damage(const Error& error);

    const Engine* engine_;
    InGaps in_gaps_;
    std::vector<Part> parts_;
    std::vector<DamagedRange> lost_;  // that is still to be reported, the first at the end
    DamagedRange gap_;
};

// All of a ReadableCursor, or up to where the visitor stops it.
[[nodiscard]] Result<Done> visit_readable(
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
