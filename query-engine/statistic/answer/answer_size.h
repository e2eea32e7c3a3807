// Estimates the memory of an answer's rows in bytes, for limits.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

// Overhead of malloc included.
inline constexpr std::size_t kAllocationSizeBytes = 16;

// A row without its texts. The row object counts twice, because a growing table holds old and new array.
[[nodiscard]] constexpr std::size_t answer_row_size_bytes(std::size_t column_count) {
    return 2 * sizeof(std::vector<AnswerValue>) + column_count * sizeof(AnswerValue) + kAllocationSizeBytes;
}

// The heap memory of its texts.
[[nodiscard]] inline std::size_t answer_text_size_bytes(const std::vector<AnswerValue>& row) {
    constexpr std::size_t kInnerSizeBytes = 15;
    std::size_t size_bytes = 0;
    for (const AnswerValue& value : row) {
        const auto* const text = std::get_if<std::string>(&value);
        size_bytes +=
            text != nullptr && text->capacity() > kInnerSizeBytes ? text->capacity() + kAllocationSizeBytes : 0;
    }
    return size_bytes;
}

}  // namespace perfleet
