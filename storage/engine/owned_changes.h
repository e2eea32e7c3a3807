// Changes that own the values put into them.
#pragma once

#include <deque>
#include <string>
#include <utility>

#include "storage/engine/engine.h"

namespace perfleet {

class OwnedChanges {
public:
    void put(std::string key, std::string value) {
        values_.push_back(std::move(value));
        changes.puts.push_back({std::move(key), values_.back()});
    }

    Changes changes;

private:
    std::deque<std::string> values_;
};

}  // namespace perfleet
