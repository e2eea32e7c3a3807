#include "exporters/rows/kernel_log_event.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "schemas/vocabulary/uncovered_time.h"

namespace perfleet {
namespace {

constexpr std::size_t kPathSizeBytes = 24;
constexpr std::size_t kSyscallSizeBytes = 16;
constexpr std::size_t kCapSizeBytes = 32;

// A tracepoint's format with its fields in sequence.
class Format {
public:
    Format(std::string_view name, std::uint64_t id) {
        text_.append("name: ").append(name).append("\nID: ").append(std::to_string(id)).append("\nformat:\n");
        field("unsigned short common_type", 2, false);
        field("unsigned char common_flags", 1, false);
        field("unsigned char common_preempt_count", 1, false);
        field("int common_pid", 4, true);
        text_ += '\n';
    }
    Format& field(std::string_view declaration, std::size_t size_bytes, bool is_signed = false) {
        text_.append("\tfield:").append(declaration).append(";\toffset:").append(std::to_string(offset_));
        text_.append(";\tsize:")
            .append(std::to_string(size_bytes))
            .append(is_signed ? ";\tsigned:1;\n" : ";\tsigned:0;\n");
        offset_ += size_bytes;
        return *this;
    }
    [[nodiscard]] std::string printed(std::string_view format) const {
        return text_ + "\nprint fmt: " + std::string{format} + "\n";
    }

private:
    std::string text_;
    std::size_t offset_ = 0;
};

std::string declaration(std::string_view name, std::size_t size_bytes) {
    return "char " + std::string{name} + "[" + std::to_string(size_bytes) + "]";
}

class Raw {
public:
    // The common fields. The thread is 0: the log doesn't name it.
    explicit Raw(std::uint64_t id) { put(static_cast<std::uint16_t>(id)).put(std::uint16_t{0}).put(std::uint32_t{0}); }

    template <class T>
    Raw& put(T value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
        return *this;
    }
    Raw& put_text(std::string_view text, std::size_t size_bytes) {
        const std::string_view cut = text.substr(0, size_bytes - 1);
        bytes_.append(cut).append(size_bytes - cut.size(), '\0');
        return *this;
    }
    [[nodiscard]] std::string take() { return std::move(bytes_); }

private:
    std::string bytes_;
};

std::string name_or_number(std::string_view name, std::uint32_t number) {
    return name.empty() ? std::to_string(number) : std::string{name};
}

std::string entry_raw(const sel4::LogDescription& of, std::uint64_t id, const DecodedRows& rows, std::size_t row) {
    const auto number = static_cast<std::uint8_t>(rows.integers(ColumnId::kEntryPath)[row]);
    const sel4::EntryPath path = sel4::entry_path(of.numbering(), number);
    const std::uint64_t detail = rows.integers(ColumnId::kEntryDetail)[row];
    Raw raw{id};
    raw.put(rows.integers(ColumnId::kDuration)[row]).put_text(sel4::path_name(path), kPathSizeBytes);
    if (path != sel4::EntryPath::kSyscall) {
        raw.put_text("-", kSyscallSizeBytes).put_text("-", kCapSizeBytes).put(std::uint64_t{0});
        return raw.put(sel4::word_detail(detail).word).take();
    }
    const sel4::SyscallDetail syscall = sel4::syscall_detail(detail);
    const std::string_view cap =
        of.architecture ? sel4::cap_type_name(syscall.cap_type, *of.architecture) : std::string_view{};
    raw.put_text(name_or_number(sel4::syscall_name(syscall.number, of.is_mcs), syscall.number), kSyscallSizeBytes);
    raw.put_text(name_or_number(cap, syscall.cap_type), kCapSizeBytes).put(syscall.invocation_tag);
    return raw.put(std::uint32_t{syscall.is_fastpath}).put(std::uint32_t{0}).take();
}

}  // namespace

std::optional<KernelLogEvent> kernel_log_event(const EventRecord& event, Kind kind) {
    if (kind == Kind::kCounter && event.name == kUncoveredTimeEvent) {
        return KernelLogEvent{kind, {}};
    }
    if (kind != Kind::kKernelEntry && kind != Kind::kTracepoint) {
        return std::nullopt;
    }
    auto description = sel4::parse_description(event.format);
    if (!description) {
        return std::nullopt;
    }
    return KernelLogEvent{kind, *std::move(description)};
}

std::string kernel_log_name(const EventRecord& event, Kind kind) {
    if (kind == Kind::kKernelEntry) {
        return "sel4:kernel_entry";
    }
    if (kind == Kind::kCounter) {
        return "perfleet:uncovered";
    }
    std::string name = event.name;
    std::replace_if(
        name.begin(), name.end(), [](unsigned char character) { return std::isalnum(character) == 0; }, '_');
    return "sel4:" + name;
}

std::string kernel_log_format(const KernelLogEvent& event, const std::string& name, std::uint64_t id) {
    Format format{std::string_view{name}.substr(name.find(':') + 1), id};
    if (event.kind == Kind::kCounter) {
        return format.field("u64 uncovered", 8)
            .field("u64 of", 8)
            .printed("\"uncovered=%llu of=%llu\", REC->uncovered, REC->of");
    }
    format.field("u64 duration", 8);
    if (event.kind == Kind::kTracepoint) {
        return format.field("u64 id", 8).printed("\"id=%llu duration=%llu\", REC->id, REC->duration");
    }
    format.field(declaration("path", kPathSizeBytes), kPathSizeBytes)
        .field(declaration("syscall", kSyscallSizeBytes), kSyscallSizeBytes)
        .field(declaration("cap", kCapSizeBytes), kCapSizeBytes)
        .field("u32 invocation", 4)
        .field("u32 fastpath", 4)
        .field("u32 word", 4);
    return format.printed(
        "\"path=%s duration=%llu syscall=%s cap=%s invocation=%u fastpath=%u word=%u\", REC->path, REC->duration, "
        "REC->syscall, REC->cap, REC->invocation, REC->fastpath, REC->word");
}

KernelLogSample kernel_log_sample(const KernelLogEvent& event, std::uint64_t id, const DecodedRows& rows,
                                  std::size_t row) {
    const std::uint64_t cpu = rows.integers(ColumnId::kCpu)[row];
    if (event.kind == Kind::kKernelEntry) {
        return {entry_raw(event.description, id, rows, row), rows.integers(ColumnId::kDuration)[row], cpu};
    }
    const std::uint64_t duration = rows.integers(ColumnId::kValue)[row];
    return {Raw{id}.put(duration).put(event.description.tracepoint_id.value_or(0)).take(), duration, cpu};
}

KernelLogSample uncovered_time_sample(std::uint64_t id, std::uint64_t uncovered_ticks, std::uint64_t of_ticks) {
    return {Raw{id}.put(uncovered_ticks).put(of_ticks).take(), uncovered_ticks, 0};
}

}  // namespace perfleet
