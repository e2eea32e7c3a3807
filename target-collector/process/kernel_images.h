// The running kernel and its modules as images, and a snapshot of their symbols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/kinds.h"
#include "target-collector/process/image_table.h"

namespace perfleet {

struct KernelSymbol {
    std::uint64_t address = 0;
    char type = 0;
    std::string_view name;
    std::string_view module;  // empty: the kernel itself
};

// One line of /proc/kallsyms; empty if it is malformed. Borrows `line`.
[[nodiscard]] std::optional<KernelSymbol> parse_kallsyms_line(std::string_view line);

// Functions that were generated at run time, which kallsyms lists behind those of modules: BPF programs, images of
// their own. Their sizes aren't known: each reaches to the next one, at most kKernelFunctionSizeBytesMax.
inline constexpr std::uint64_t kKernelFunctionSizeBytesMax = 64U << 10U;
[[nodiscard]] Image kernel_function(std::string_view name, std::uint64_t address, std::uint64_t size_bytes);

// Where the kernel's code lies.
struct KernelLayout {
    static constexpr std::size_t kFunctionsMax = 4'096;

    struct Range {
        std::uint64_t start = 0;
        std::uint64_t end = 0;
    };
    std::uint64_t start = 0;       // _stext; 0: hidden (kptr_restrict)
    std::uint64_t size = 0;        // to _etext
    std::vector<Range> scheduler;  // functions by which a thread leaves the CPU
    std::vector<Image> functions;  // BPF programs and the like, by address, at most kFunctionsMax
};

// Builds a KernelLayout from the lines of /proc/kallsyms, which must come in the order of the file.
class KernelLayoutReader {
public:
    void take(std::string_view line);
    [[nodiscard]] KernelLayout finish();

private:
    KernelLayout layout_;
    std::uint64_t end_ = 0;
    bool is_in_scheduler_ = false;  // the next symbol ends the last function of layout_.scheduler
};
[[nodiscard]] KernelLayout read_kernel_layout(std::string_view kallsyms);

struct KernelModule {
    std::string name;  // empty: the kernel itself
    std::uint64_t start = 0;
    std::uint64_t size = 0;
};
// From the text of /proc/modules, ascending by start; omits modules with hidden addresses.
[[nodiscard]] std::vector<KernelModule> read_kernel_modules(std::string_view modules);

// The symbols of each module's code, by module name, as text (schemas/wire/README.md). Offsets count from the module's
// start.
[[nodiscard]] std::map<std::string, std::string> read_kernel_symbols(std::string_view kallsyms,
                                                                     const std::vector<KernelModule>& modules);
// Of the running kernel and its modules; empty if kptr_restrict hides them.
[[nodiscard]] std::map<std::string, std::string> read_kernel_symbols();

// Attributes kernel addresses to images.
class KernelImages {
public:
    // A kernel of which nothing is known. read() uses /proc/kallsyms, /proc/modules, /sys/kernel/notes and
    // /sys/module/*/notes.
    KernelImages() = default;
    static KernelImages read();
    // Only the running kernel's build-id.
    [[nodiscard]] static ImageContentId own_content();
    // The images of another machine. Addresses after the kernel's text don't count as the kernel's, if its size is
    // known.
    static KernelImages of(Image kernel, std::vector<Image> modules);

    [[nodiscard]] const ImageContentId& kernel_content() const { return kernel_content_; }
    // Visits the kernel and each module with the name by which read_kernel_symbols() has its symbols, if their
    // addresses and build-ids are known.
    template <class Visitor>
    void each_content(Visitor visitor) const {
        if (!addresses_hidden() && kernel_content_.size_bytes > 0) {
            visitor(kernel_content_, std::string{});
        }
        for (const Module& module : modules_) {
            if (module.image.content.size_bytes > 0) {
                visitor(module.image.content, module.image.name.substr(1, module.image.name.size() - 2));
            }
        }
    }
    [[nodiscard]] const std::vector<KernelLayout::Range>& scheduler() const { return scheduler_; }
    // The kernel's text: start, and size if known.
    [[nodiscard]] const Image& kernel() const { return kernel_; }
    [[nodiscard]] bool addresses_hidden() const { return kernel_.address == 0; }

    // A function that was made or removed while the kernel runs. One above KernelLayout::kFunctionsMax has no name.
    void put_function(Image function, ImageTable& table);
    void remove_function(std::uint64_t address);

    // Adds its images to the table; to be repeated after a sweep that removed them.
    void intern(ImageTable& table);

    struct Place {
        ImageIndex image = 0;
        std::uint64_t offset = 0;
    };
    // Empty for addresses below the kernel's text, where it has no code. Addresses after its text (BPF programs,
    // trampolines) count as the kernel's.
    [[nodiscard]] std::optional<Place> find(std::uint64_t address) const;

    template <class Visitor>
    void each_index(Visitor visitor) const {
        visitor(kernel_index_);
        for (const Module& module : modules_) {
            visitor(module.index);
        }
    }

private:
    struct Module {
        Image image;
        ImageIndex index = 0;
    };
    Image kernel_{"[kernel.kallsyms]", image_flags::kKernel, 0, 0, {}};
    std::uint64_t kernel_size_bytes_max_ = ~0ULL;  // addresses beyond it aren't the kernel's
    ImageIndex kernel_index_ = 0;
    ImageContentId kernel_content_;
    std::vector<Module> modules_;
    std::vector<KernelLayout::Range> scheduler_;
};

}  // namespace perfleet
