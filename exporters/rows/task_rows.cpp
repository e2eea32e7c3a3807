#include "exporters/rows/task_rows.h"

#include "schemas/vocabulary/kinds.h"

namespace perfleet {
EpochImages add_images(ExportedImages& images, const EpochDictionary& dictionary) {
    EpochImages epoch;
    epoch.dictionary = &dictionary;
    epoch.images.reserve(dictionary.image_count());
    for (std::size_t number = 0; number < dictionary.image_count(); ++number) {
        epoch.images.push_back(images.add(dictionary.image(ImageNumber{static_cast<std::uint32_t>(number)})));
    }
    return epoch;
}

bool take_task_row(TaskState& tasks, const ExportedImages& images, const EpochImages& epoch, const DecodedRows& rows,
                   std::size_t row, const TaskRange& range) {
    const auto value = [&](ColumnId column) { return rows.integers(column)[row]; };
    const auto number_of = [&](ColumnId column) { return range.number(value(column)); };
    const std::uint32_t pid = number_of(ColumnId::kPid);
    const std::uint32_t tid = number_of(ColumnId::kTid);
    const auto name = [&] {
        const StringNumber number{static_cast<std::uint32_t>(value(ColumnId::kString))};
        return range.name_prefix + std::string{epoch.dictionary->string(number)};
    };
    switch (static_cast<TaskOp>(value(ColumnId::kTaskOp))) {
        case TaskOp::kPresent:
        case TaskOp::kComm: tasks.set_name(pid, tid, name()); return true;
        case TaskOp::kExec: tasks.exec(pid, tid, name()); return true;
        case TaskOp::kFork:
            tasks.fork(number_of(ColumnId::kParentPid), number_of(ColumnId::kParentTid), pid, tid);
            return true;
        case TaskOp::kExit: tasks.exit(pid, tid); return true;
        case TaskOp::kMap: {
            const std::uint64_t number = value(ColumnId::kImage);
            if (number >= epoch.images.size()) {
                return true;  // its definition was lost; its frames are placed when they occur
            }
            const ExportedImage image = epoch.images[number];
            if (images.place(image) != ExportedImages::Place::kUnknown) {
                tasks.map(pid, {value(ColumnId::kAddress), value(ColumnId::kSize), value(ColumnId::kFileOffset), image,
                                value(ColumnId::kProtection)});
            }
            return true;
        }
        case TaskOp::kCgroup:
        case TaskOp::kCgroupName:
        case TaskOp::kNamespaces:
        case TaskOp::kSwitchOut:
        case TaskOp::kSwitchIn:
        case TaskOp::kLost:
        case TaskOp::kThrottle:
        case TaskOp::kUnthrottle:
        case TaskOp::kPushed: break;
    }
    return false;
}

}  // namespace perfleet
