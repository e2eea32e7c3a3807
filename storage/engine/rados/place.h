// The location of a store on RADOS: rados:[USER@]POOL[/NAMESPACE].
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace perfleet {

struct RadosPlace {
    std::string user = "admin";  // of the cluster, without "client."
    std::string pool;
    std::string name_space;  // in the pool; empty: the pool's default one

    [[nodiscard]] std::string text() const;
};

inline constexpr std::string_view kRadosScheme = "rados:";

// Nothing if the text doesn't begin with the scheme: then it is a folder. `pool` may come out empty.
[[nodiscard]] std::optional<RadosPlace> rados_place(std::string_view text);

}  // namespace perfleet
