#include "tests/chaos/traced_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <variant>

#include "gateway/admission/decode.h"
#include "target-collector/spool/spool_file.h"
#include "target-collector/spool/spool_reading.h"

namespace perfleet::chaos {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSessionDigits = 32;

Error unreadable(const fs::path& path, const std::string& what) {
    return {ErrorCode::kInvalid, path.string() + ": " + what};
}

Result<std::uint64_t> read_count(const fs::path& path) {
    std::ifstream file{path, std::ios::binary};
    std::array<char, sizeof(std::uint64_t)> bytes{};
    if (!file.read(bytes.data(), bytes.size())) {
        return unreadable(path, "has no count");
    }
    std::uint64_t count = 0;
    std::memcpy(&count, bytes.data(), bytes.size());
    return count;
}

// The process that delivers the rest continues to count these.
bool is_counted_by_wire(CountName name) { return name == CountName::kLostSpoolFull || name == CountName::kLostRefused; }

Result<KeptSession::Batch> read_batch(SpooledBatch& spooled, Decoder& decoder) {
    const auto message = PERFLEET_TRY(decoder.decode(DeliverySpool::message_of(spooled)));
    const auto* const batch = std::get_if<BatchUntrusted>(&message);
    if (batch == nullptr || batch->fault.has_value() || batch->header.seq != spooled.seq) {
        return Error{ErrorCode::kInvalid, "batch " + std::to_string(spooled.seq.value) + " is no such batch"};
    }
    KeptSession::Batch kept{batch->seal, batch->header.bucket, {}};
    for (const SealedRecord::Rows& rows : DeliverySpool::rows_of(spooled)) {
        kept.row_counts[rows.series] = rows.row_count;
    }
    return kept;
}

Result<KeptSession> read_kept(const fs::path& path) {
    const auto file = PERFLEET_TRY(SpoolFile::open(path.string()));
    const auto reading = read_spool(file->bytes());
    if (!reading.ok()) {
        return error_from_fault(reading.error(), path.string());
    }
    fill_spool_holes(**reading, file->records());
    KeptSession kept;
    kept.session = (*reading)->head.session;
    const JournalEntry& entry = (*reading)->entry;
    kept.first_kept = entry.first_kept;
    kept.dropped.assign(entry.ranges.begin(), entry.ranges.begin() + static_cast<std::ptrdiff_t>(entry.range_count));
    kept.has_refused =
        std::any_of(entry.lost.entries().begin(), entry.lost.entries().end(),
                    [](const CountEntry& count) { return count.name == CountName::kLostRefused && count.value != 0; });
    for (const CountEntry& count : (*reading)->final_counts.entries()) {
        if (!is_counted_by_wire(count.name)) {
            kept.own_counts.push_back(count);
        }
    }
    DeliverySpool spool{file->records(), true};
    spool.restore(entry.places);
    Decoder decoder;
    for (SpooledBatch* spooled = spool.front(); spooled != nullptr; spooled = spool.next(spooled)) {
        if (spooled->is_resolved()) {
            continue;
        }
        auto batch = read_batch(*spooled, decoder);
        if (!batch.ok()) {
            return unreadable(path, batch.error().message);
        }
        kept.batches.emplace(spooled->seq, std::move(*batch));
    }
    return kept;
}

Result<Done> read_kept_folder(const fs::path& folder, bool is_since_power_loss, TracedLog& log) {
    for (const auto& entry : fs::directory_iterator{folder}) {
        if (entry.path().extension() != ".spool") {
            continue;
        }
        auto kept = PERFLEET_TRY(read_kept(entry.path()));
        kept.is_since_power_loss = is_since_power_loss;
        log.kept.push_back(std::move(kept));
    }
    return Done{};
}

Result<Done> read_finished(const fs::path& path, TracedLog& log) {
    std::ifstream file{path};
    std::uint64_t run = 0;
    std::uint64_t calls = 0;
    while (file >> run >> calls) {
        log.finished[run] = calls;
    }
    return file.eof() ? Result<Done>{Done{}} : unreadable(path, "no line `RUN CALLS`");
}

Result<Done> read_power_lost(const fs::path& path, TracedLog& log) {
    std::ifstream file{path};
    std::string digits;
    while (file >> digits) {
        SessionId session;
        const char* const begin = digits.data();
        const char* const middle = begin + kSessionDigits / 2;
        if (digits.size() != kSessionDigits || std::from_chars(begin, middle, session.high, 16).ptr != middle ||
            std::from_chars(middle, begin + kSessionDigits, session.low, 16).ptr != begin + kSessionDigits) {
            return unreadable(path, "'" + digits + "' is no session");
        }
        log.power_lost.insert(session);
    }
    return Done{};
}

}  // namespace

Result<TracedLog> read_traced_log(const std::string& folder) {
    TracedLog log;
    std::error_code error;
    for (fs::directory_iterator at{folder, error}, end; !error && at != end; at.increment(error)) {
        const fs::path& path = at->path();
        const std::string stem = path.stem().string();
        Result<Done> done = Done{};
        if (stem == "begun") {
            const auto count = PERFLEET_TRY(read_count(path));
            log.begun[std::stoull(path.extension().string().substr(1))] = count;
        } else if (stem == "kept" || stem == "kept-since-power-loss") {
            log.has_spool = true;
            done = read_kept_folder(path, stem != "kept", log);
        } else if (stem == "finished") {
            done = read_finished(path, log);
        } else if (stem == "power-lost") {
            done = read_power_lost(path, log);
        } else {
            return unreadable(path, "nobody knows what this is");
        }
        if (!done.ok()) {
            return done.error();
        }
    }
    return error ? Result<TracedLog>{error_from_errno(error.value(), folder)} : std::move(log);
}

}  // namespace perfleet::chaos
