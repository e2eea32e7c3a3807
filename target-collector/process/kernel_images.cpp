#include "target-collector/process/kernel_images.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "schemas/text/parse.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/process/elf_note.h"
#include "target-collector/process/small_file.h"

namespace perfleet {
namespace {

constexpr std::size_t kKallsymsSizeBytesMax = 256U << 20U;
constexpr std::size_t kModulesSizeBytesMax = 4U << 20U;
constexpr std::array<std::string_view, 4> kScheduler{"__schedule", "schedule", "schedule_idle", "preempt_schedule_irq"};

bool is_code(char type) { return type == 't' || type == 'T' || type == 'w' || type == 'W'; }

void append_hex(std::string& text, std::uint64_t value) {
    char digits[16];
    const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value, 16);
    text.append(digits, static_cast<std::size_t>(end - digits));
}

ImageContentId content_of_notes(const std::string& path) {
    const auto notes = read_small_file(path, kNotesSizeBytesMax);
    if (!notes.ok()) {
        return {};
    }
    return ImageContentId::from(build_id_in_notes(std::as_bytes(std::span(notes->data(), notes->size()))), false);
}

// Formatted as in schemas/wire/README.md, as many symbols as fit.
std::string text_of(std::vector<KernelSymbol> symbols, std::uint64_t start) {
    std::stable_sort(symbols.begin(), symbols.end(),
                     [](const KernelSymbol& a, const KernelSymbol& b) { return a.address < b.address; });
    constexpr std::size_t kOffsetSizeBytes = 12;  // about, with separators
    std::size_t size_bytes = 0;
    for (const KernelSymbol& symbol : symbols) {
        size_bytes += kOffsetSizeBytes + symbol.name.size();
    }
    std::string text;
    text.reserve(std::min(size_bytes, limits::kImageSizeBytesMax));
    for (const KernelSymbol& symbol : symbols) {
        const std::size_t before = text.size();
        append_hex(text, symbol.address - start);
        text += ' ';
        text += symbol.type;
        text += ' ';
        text += symbol.name;
        text += '\n';
        if (text.size() > limits::kImageSizeBytesMax) {
            text.resize(before);
            break;
        }
    }
    return text;
}

std::string text_of(const std::string& path, std::size_t size_bytes_max) {
    auto text = read_small_file(path, size_bytes_max);
    return text.ok() ? std::move(*text) : std::string{};
}

}  // namespace

std::optional<KernelSymbol> parse_kallsyms_line(std::string_view line) {
    KernelSymbol symbol;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), symbol.address, 16);
    if (error != std::errc{}) {
        return std::nullopt;
    }
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    if (line.size() < 4 || line[0] != ' ' || line[2] != ' ') {
        return std::nullopt;
    }
    symbol.type = line[1];
    line.remove_prefix(3);
    const std::size_t tab = std::min(line.find('\t'), line.size());
    symbol.name = line.substr(0, tab);
    if (symbol.name.empty()) {
        return std::nullopt;
    }
    line.remove_prefix(std::min(tab + 1, line.size()));
    if (line.size() > 2 && line.front() == '[' && line.back() == ']') {
        symbol.module = line.substr(1, line.size() - 2);
    }
    return symbol;
}

void KernelLayoutReader::take(std::string_view line) {
    // Few lines are parsed: this reads more than 100,000 of them whenever a collector starts.
    const bool is_of_use = is_in_scheduler_ || line.ends_with("text") || line.ends_with("[bpf]") ||
                           std::ranges::any_of(kScheduler, [&](std::string_view name) { return line.ends_with(name); });
    const auto symbol = is_of_use ? parse_kallsyms_line(line) : std::nullopt;
    if (!symbol || symbol->address == 0) {
        return;
    }
    if (is_in_scheduler_ && symbol->address > layout_.scheduler.back().start) {
        layout_.scheduler.back().end = symbol->address;
        is_in_scheduler_ = false;
    }
    if (symbol->module == "bpf" && is_code(symbol->type) && layout_.functions.size() < KernelLayout::kFunctionsMax) {
        layout_.functions.push_back(kernel_function(symbol->name, symbol->address, kKernelFunctionSizeBytesMax));
    }
    if (!symbol->module.empty()) {
        return;
    }
    if (symbol->name == "_stext") {
        layout_.start = symbol->address;
    } else if (symbol->name == "_etext") {
        end_ = symbol->address;
    } else if (!is_in_scheduler_ && std::ranges::find(kScheduler, symbol->name) != kScheduler.end()) {
        layout_.scheduler.push_back({symbol->address, symbol->address});
        is_in_scheduler_ = true;
    }
}

KernelLayout KernelLayoutReader::finish() {
    layout_.size = layout_.start != 0 && end_ > layout_.start ? end_ - layout_.start : 0;
    std::vector<Image>& functions = layout_.functions;
    std::ranges::stable_sort(functions, {}, &Image::address);
    for (std::size_t i = 0; i + 1 < functions.size(); ++i) {
        functions[i].size = std::min(functions[i].size, functions[i + 1].address - functions[i].address);
    }
    return std::move(layout_);
}

KernelLayout read_kernel_layout(std::string_view kallsyms) {
    KernelLayoutReader reader;
    while (!kallsyms.empty()) {
        reader.take(take_part(kallsyms, '\n'));
    }
    return reader.finish();
}

std::vector<KernelModule> read_kernel_modules(std::string_view modules) {
    std::vector<KernelModule> found;
    while (!modules.empty()) {
        // name size references users state address
        std::string_view line = take_part(modules, '\n');
        KernelModule module;
        module.name = take_part(line, ' ');
        module.size = number_of<std::uint64_t>(take_part(line, ' ')).value_or(0);
        (void)take_part(line, ' ');
        (void)take_part(line, ' ');
        (void)take_part(line, ' ');
        std::string_view address = take_part(line, ' ');
        address.remove_prefix(address.starts_with("0x") ? 2 : 0);
        module.start = number_of<std::uint64_t>(address, 16).value_or(0);
        if (module.start != 0 && module.size != 0) {
            found.push_back(std::move(module));
        }
    }
    std::sort(found.begin(), found.end(),
              [](const KernelModule& a, const KernelModule& b) { return a.start < b.start; });
    return found;
}

std::map<std::string, std::string> read_kernel_symbols(std::string_view kallsyms,
                                                       const std::vector<KernelModule>& modules) {
    std::map<std::string_view, std::pair<const KernelModule*, std::vector<KernelSymbol>>> found;
    for (const KernelModule& module : modules) {
        found[module.name].first = &module;
    }
    while (!kallsyms.empty()) {
        const auto symbol = parse_kallsyms_line(take_part(kallsyms, '\n'));
        const auto place = symbol && is_code(symbol->type) ? found.find(symbol->module) : found.end();
        if (place != found.end() && symbol->address >= place->second.first->start &&
            symbol->address - place->second.first->start < place->second.first->size) {
            place->second.second.push_back(*symbol);
        }
    }
    std::map<std::string, std::string> texts;
    for (auto& [name, symbols] : found) {
        texts[std::string{name}] = text_of(std::move(symbols.second), symbols.first->start);
    }
    return texts;
}

Image kernel_function(std::string_view name, std::uint64_t address, std::uint64_t size_bytes) {
    return {std::string{name.substr(0, limits::kStringSizeBytesMax)},
            image_flags::kKernel | image_flags::kKernelModule | image_flags::kAnonymous,
            address,
            size_bytes,
            {}};
}

std::map<std::string, std::string> read_kernel_symbols() {
    const std::string kallsyms = text_of("/proc/kallsyms", kKallsymsSizeBytesMax);
    auto modules = read_kernel_modules(text_of("/proc/modules", kModulesSizeBytesMax));
    if (const KernelLayout layout = read_kernel_layout(kallsyms); layout.start != 0) {
        modules.push_back({{}, layout.start, ~0ULL - layout.start});
    }
    return read_kernel_symbols(kallsyms, modules);
}

ImageContentId KernelImages::own_content() { return content_of_notes("/sys/kernel/notes"); }

KernelImages KernelImages::read() {
    KernelImages images;
    KernelLayoutReader reader;
    (void)visit_lines("/proc/kallsyms", [&](std::string_view line) { reader.take(line); });
    KernelLayout layout = reader.finish();
    images.kernel_content_ = own_content();
    images.kernel_.address = layout.start;
    images.kernel_.size = layout.size;
    images.kernel_.content = images.kernel_content_;
    images.scheduler_ = std::move(layout.scheduler);
    for (const KernelModule& module : read_kernel_modules(text_of("/proc/modules", kModulesSizeBytesMax))) {
        images.modules_.push_back(
            {{"[" + module.name + "]", image_flags::kKernel | image_flags::kKernelModule, module.start, module.size,
              content_of_notes("/sys/module/" + module.name + "/notes/.note.gnu.build-id")}});
    }
    for (Image& function : layout.functions) {
        images.modules_.push_back({std::move(function)});
    }
    std::sort(images.modules_.begin(), images.modules_.end(),
              [](const Module& a, const Module& b) { return a.image.address < b.image.address; });
    return images;
}

KernelImages KernelImages::of(Image kernel, std::vector<Image> modules) {
    KernelImages images;
    images.kernel_content_ = kernel.content;
    images.kernel_size_bytes_max_ = kernel.size != 0 ? kernel.size : ~0ULL;
    images.kernel_ = std::move(kernel);
    std::sort(modules.begin(), modules.end(), [](const Image& a, const Image& b) { return a.address < b.address; });
    for (Image& module : modules) {
        images.modules_.push_back({std::move(module)});
    }
    return images;
}

void KernelImages::put_function(Image function, ImageTable& table) {
    remove_function(function.address);
    const auto count = std::count_if(modules_.begin(), modules_.end(), [](const Module& module) {
        return (module.image.flags & image_flags::kAnonymous) != 0;
    });
    if (function.size == 0 || static_cast<std::size_t>(count) >= KernelLayout::kFunctionsMax) {
        return;
    }
    const auto behind = std::partition_point(modules_.begin(), modules_.end(), [&](const Module& module) {
        return module.image.address <= function.address;
    });
    const ImageIndex index = table.intern(function).value_or(kernel_index_);
    modules_.insert(behind, {std::move(function), index});
}

void KernelImages::remove_function(std::uint64_t address) {
    std::erase_if(modules_, [&](const Module& module) {
        return module.image.address == address && (module.image.flags & image_flags::kAnonymous) != 0;
    });
}

void KernelImages::intern(ImageTable& table) {
    // Interned first: the table has space, and they are never removed.
    kernel_index_ = table.intern(kernel_).value_or(0);
    for (Module& module : modules_) {
        module.index = table.intern(module.image).value_or(kernel_index_);
    }
}

std::optional<KernelImages::Place> KernelImages::find(std::uint64_t address) const {
    const auto after = std::partition_point(modules_.begin(), modules_.end(),
                                            [&](const Module& module) { return module.image.address <= address; });
    if (after != modules_.begin()) {
        const Module& module = *std::prev(after);
        if (address - module.image.address < module.image.size) {
            return Place{module.index, address - module.image.address};
        }
    }
    if (address < kernel_.address || address - kernel_.address >= kernel_size_bytes_max_) {
        return std::nullopt;
    }
    return Place{kernel_index_, address - kernel_.address};
}

}  // namespace perfleet
