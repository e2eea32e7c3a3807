#include "exporters/page/page_files.h"

#include <array>

#include "exporters/page/page_files_text.h"

namespace perfleet {

std::span<const PageFile> page_files() {
    static const std::array kFiles{PageFile{"/", "text/html; charset=utf-8", kPageIndex},
                                   PageFile{"/app.js", "text/javascript; charset=utf-8", kPageScript},
                                   PageFile{"/app.css", "text/css; charset=utf-8", kPageStyle}};
    return kFiles;
}

}  // namespace perfleet
