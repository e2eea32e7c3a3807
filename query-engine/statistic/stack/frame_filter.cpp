#include "query-engine/statistic/stack/frame_filter.h"

#include <memory>

#include "query-engine/statistic/stack/frame_names.h"

namespace perfleet {
namespace {

constexpr std::size_t kSymbolsShare = 8;  // of a query's memory, for symbol tables that are kept

}  // namespace

void filter_frames(Scan& scan, const SymbolPaths& paths) {
    const RowFilter& filter = scan.selection().filter;
    if (!filter.has_frames()) {
        return;
    }
    // A separate symbolizer: the command's may be in use on another thread.
    auto symbolizer =
        std::make_shared<Symbolizer>(&scan.store(), paths, scan.selection().memory_size_bytes_max / kSymbolsShare);
    scan.set_frame_filter([filter, symbolizer, &memory = scan.memory()](const EpochDictionary& dictionary) {
        FrameNames names{*symbolizer, memory, 1,
                         filter.symbols.empty() ? FrameNames::Wanted::kImagesAlone : FrameNames::Wanted::kSymbols};
        std::vector<StackCount> all(dictionary.stack_count());
        for (std::uint32_t node = 0; node < all.size(); ++node) {
            all[node].stack = StackNumber{node};
        }
        names.name_epoch(dictionary, all);
        std::vector<bool> passes(all.size());
        for (std::uint32_t node = 0; node < all.size(); ++node) {
            const FrameName name = names.name_of(StackNumber{node});
            const std::string& image = names.images().text(name.image);
            const std::string& path = dictionary.image(dictionary.stack(StackNumber{node}).frame.image).name;
            passes[node] = (filter.images.empty() || matches_any(filter.images, image) ||
                            (image == "[kernel.kallsyms]" && matches_any(filter.images, "[kernel]")) ||
                            matches_any(filter.images, path)) &&
                           (filter.symbols.empty() || matches_any(filter.symbols, names.symbols().text(name.symbol)));
        }
        return passes;
    });
}

}  // namespace perfleet
