// A destination that keeps what it got of one session, or of several that follow each other.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "target-collector/intake/session/session_writer.h"

namespace perfleet {

// What a destination got of one session.
struct Passed {
    SessionRecord record;
    std::vector<SealedRecord> batches;
    std::set<std::string> images;
    std::optional<SessionEnd> end;
    std::size_t batches_max = ~std::size_t{0};  // a further one is an error
};

class PassedWriter final : public SessionWriter {
public:
    PassedWriter(SessionRecord record, Passed& passed) : SessionWriter{std::move(record)}, passed_{passed} {
        passed_.record = record_;
    }
    Result<Done> put(const SealedRecord& header, std::span<const std::byte> message) override {
        EXPECT_FALSE(message.empty());
        if (passed_.batches.size() == passed_.batches_max) {
            return Error{ErrorCode::kUnavailable, "no more batches"};
        }
        passed_.batches.push_back(header);
        return Done{};
    }
    Result<Done> sync() override { return Done{}; }
    Result<Done> put_image(std::string_view build_id, ImageContent content) override {
        EXPECT_FALSE(content.bytes.empty());
        passed_.images.emplace(build_id);
        return Done{};
    }
    Result<Done> end(const SessionEnd& end) override {
        passed_.end = end;
        return Done{};
    }

private:
    Passed& passed_;
};

class PassedDestination final : public SessionDestination {
public:
    explicit PassedDestination(Passed& passed) : passed_{passed} {}
    Result<std::unique_ptr<SessionWriter>> begin(SessionRecord record, UtcNs /*now*/) override {
        return std::unique_ptr<SessionWriter>{std::make_unique<PassedWriter>(std::move(record), passed_)};
    }
    Result<bool> has_ended(TargetId /*target*/, SessionId /*session*/) const override { return false; }

private:
    Passed& passed_;
};

}  // namespace perfleet
