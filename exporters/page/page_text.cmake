# cmake -D PAGE=flame.html -D NAME=kPage -D HEADER=page_text.h -D OUTPUT=… -P page_text.cmake
# Makes the C++ source that HEADER declares: NAMEBeforeData and NAMEBehindData, a page of dist/ before and behind @DATA@.
cmake_policy(SET CMP0007 NEW)

file(READ "${PAGE}" page)
string(FIND "${page}" "@DATA@" at)
if(at EQUAL -1)
  message(FATAL_ERROR "${PAGE} has no @DATA@: run npm run build in exporters/page")
endif()
string(SUBSTRING "${page}" 0 ${at} before)
math(EXPR at "${at} + 6")
string(SUBSTRING "${page}" ${at} -1 behind)

# Compilers take literals of 64 KiB.
function(literal_of text variable)
  set(literals "")
  string(LENGTH "${text}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 part)
    string(APPEND literals "R\"page(${part})page\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  set(${variable} "${literals}" PARENT_SCOPE)
endfunction()
literal_of("${before}" before)
literal_of("${behind}" behind)
file(WRITE "${OUTPUT}" "// Made by page_text.cmake.
#include \"${HEADER}\"

namespace perfleet {

const std::string_view ${NAME}BeforeData{
${before}};
const std::string_view ${NAME}BehindData{
${behind}};

}  // namespace perfleet
")
