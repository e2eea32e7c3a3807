// Where a store on RADOS is: rados:[USER@]POOL[/NAMESPACE].
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace perfleet {

struct RadosPlace {
    std::string user = "admin";  // of the cluster, without "client."
    std::string pool;
    std::string name_space;  // of the pool; empty: the pool's own

    [[nodiscard]] std::string text() const;
};

inline constexpr std::string_view kRadosScheme = "rados:";

// Nothing where the text doesn't begin with the scheme: it is a folder. A pool without a name is empty.
[[nodiscard]] std::optional<RadosPlace> rados_place(std::string_view text);

}  // namespace perfleet
