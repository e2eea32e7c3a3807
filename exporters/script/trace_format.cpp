#include "exporters/script/trace_format.h"

#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "exporters/script/print_format.h"

namespace perfleet {
namespace {

// A dynamic field's offset after a relative one, its length, and an index.
constexpr std::size_t kRowBufferSizeBytes =
    3 * kTraceRowSizeBytesMax + (kTraceIndexMax + 1) * kTraceElementSizeBytesMax;

// The format again, with only its fields and expressions.
std::string plain_format(const TraceLayout& layout) {
    std::string text = "name: " + layout.name + "\nID: 1\nformat:\n";
    bool was_common = true;
    for (const TraceField& field : layout.fields) {
        text += was_common && !field.is_common ? "\n" : "";
        was_common = field.is_common;
        text += fmt::format("\tfield:{};\toffset:{};\tsize:{};\tsigned:{};\n", field.declaration, field.offset,
                            field.size_bytes, field.is_signed ? 1 : 0);
    }
    return text + "\nprint fmt:" + layout.print + "\n";
}

}  // namespace

struct TraceFormat::Library {
    explicit Library(FindFunction find) : find_function{std::move(find)} {}
    ~Library() {
        if (tep != nullptr) {
            tep_free(tep);
        }
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    // Both borrow their arguments until the next call.
    static char* resolve(void* priv, unsigned long long* address, char** module) {
        auto& self = *static_cast<Library*>(priv);
        self.function = self.find_function(*address);
        *module = nullptr;
        if (self.function.name.empty()) {
            return nullptr;
        }
        *address = self.function.address;
        return self.function.name.data();
    }

    void put_row(std::string_view raw) {
        std::fill_n(buffer.begin(), row_size, '\0');
        row_size = std::min(raw.size(), kTraceRowSizeBytesMax);
        std::copy_n(raw.begin(), row_size, buffer.begin());
        // Finds the event by its number, wherever the row was recorded.
        if (const auto type = std::find_if(fields.begin(), fields.end(),
                                           [](const auto& field) { return field.name == "common_type"; });
            type != fields.end()) {
            std::fill_n(buffer.begin() + static_cast<std::ptrdiff_t>(type->offset), type->size_bytes, '\0');
            buffer[type->offset] = 1;
        }
    }

    FindFunction find_function;
    Function function;
    tep_handle* tep = nullptr;
    tep_event* event = nullptr;  // null: the fields are printed
    std::vector<TraceField> fields;
    std::string buffer = std::string(kRowBufferSizeBytes, '\0');
    std::size_t row_size = 0;
};

TraceFormat::TraceFormat(const std::string& system, std::string_view format, FindFunction find_function)
    : library_{std::make_unique<Library>(std::move(find_function))} {
    const TraceLayout layout = parse_trace_layout(format);
    library_->fields = layout.fields;
    if (layout.fields.empty() || !is_safe_print_format(layout.print, layout.fields)) {
        return;
    }
    tep_set_loglevel(TEP_LOG_NONE);
    library_->tep = tep_alloc();
    if (library_->tep == nullptr) {
        return;
    }
    tep_set_long_size(library_->tep, 8);
    tep_set_function_resolver(library_->tep, &Library::resolve, library_.get());
    const std::string text = plain_format(layout);
    if (tep_parse_event(library_->tep, text.data(), text.size(), system.c_str()) == 0) {
        library_->event = tep_get_first_event(library_->tep);
    }
}

TraceFormat::~TraceFormat() = default;

std::string TraceFormat::text(std::uint32_t cpu, std::string_view raw) {
    if (library_->event == nullptr) {
        std::string text;
        for (const auto& [name, value] : fields(raw)) {
            text += (text.empty() ? "" : " ") + name + "=" +
                    std::visit([](const auto& known) { return fmt::format("{}", known); }, value);
        }
        return text;
    }
    library_->put_row(raw);
    tep_record record{};
    record.cpu = static_cast<int>(cpu);
    record.data = library_->buffer.data();
    record.size = static_cast<int>(library_->row_size);
    trace_seq sequence{};
    trace_seq_init(&sequence);
    tep_print_event(library_->tep, &sequence, &record, "%s", TEP_PRINT_INFO);
    trace_seq_terminate(&sequence);
    std::string text = sequence.buffer != nullptr ? std::string{sequence.buffer, sequence.len} : std::string{};
    trace_seq_destroy(&sequence);
    return text.substr(0, text.find('\0'));
}

std::vector<std::pair<std::string, TraceFormat::Value>> TraceFormat::fields(std::string_view raw) const {
    std::vector<std::pair<std::string, Value>> values;
    const auto number_at = [&](std::size_t offset, std::size_t size) {
        std::uint64_t number = 0;
        std::memcpy(&number, raw.data() + offset, std::min(size, sizeof(number)));
        return number;
    };
    for (const TraceField& field : library_->fields) {
        std::size_t offset = field.offset;
        std::size_t size = field.size_bytes;
        if (field.is_common) {
            continue;
        }
        if (offset + size > raw.size()) {
            break;
        }
        const std::uint64_t number = number_at(offset, size);
        if (field.is_dynamic) {
            offset = std::min((number & 0xffffU) + (field.is_relative ? offset + size : 0), raw.size());
            size = std::min(number >> 16U & 0xffffU, raw.size() - offset);
        }
        Value value;
        if (field.is_string) {
            const std::string_view content = raw.substr(offset, size);
            value = std::string{content.substr(0, content.find('\0'))};
        } else if (field.is_array) {
            std::vector<std::uint64_t> elements;
            for (std::size_t at = 0; at + field.element_size_bytes <= size; at += field.element_size_bytes) {
                elements.push_back(number_at(offset + at, field.element_size_bytes));
            }
            value = std::move(elements);
        } else if (field.is_signed && size > 0 && size <= sizeof(number)) {
            const std::size_t unused_bits = 64 - 8 * size;
            value = static_cast<std::int64_t>(number << unused_bits) >> unused_bits;
        } else {
            value = number;
        }
        values.emplace_back(field.name, std::move(value));
    }
    return values;
}

}  // namespace perfleet
