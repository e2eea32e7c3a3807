# cmake -D PAGE=page.html -D STYLES=a.css:b.css -D MODULES=a.js:b.js -D NAME=kPage -D HEADER=page_text.h -D OUTPUT=…
#       -P inline_page.cmake
# Makes one page of an HTML file, style sheets and modules, as the C++ source that HEADER declares: NAMEBeforeData and
# NAMEBehindData.
#
# Modules stand in the order of MODULES, each behind what it imports: `import` lines go, `export` words too. So names at
# the top of a module are unique among all of them; a browser refuses the page where they aren't.
# The Content-Security-Policy names the one script and the one style sheet by their SHA-256: nothing else runs.
cmake_policy(SET CMP0007 NEW)

# Base64 of hexadecimal digits.
function(base64_of hex variable)
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(text "")
  string(LENGTH "${hex}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${hex}0000" ${at} 6 part)
    math(EXPR bits "0x${part}")
    foreach(shift 18 12 6 0)
      math(EXPR index "(${bits} >> ${shift}) & 63")
      string(SUBSTRING "${alphabet}" ${index} 1 digit)
      string(APPEND text "${digit}")
    endforeach()
    math(EXPR at "${at} + 6")
  endwhile()
  # 32 bytes are ten groups of three and two bytes: one digit is padding.
  string(REGEX REPLACE ".$" "=" text "${text}")
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

file(READ "${PAGE}" page)
set(style "")
string(REPLACE ":" ";" styles "${STYLES}")
foreach(sheet IN LISTS styles)
  file(READ "${sheet}" text)
  string(APPEND style "${text}")
endforeach()
set(script "")
string(REPLACE ":" ";" modules "${MODULES}")
foreach(module IN LISTS modules)
  file(READ "${module}" text)
  string(REGEX REPLACE "(^|\n)import [^\n]*" "\\1" text "${text}")
  string(REGEX REPLACE "(^|\n)export " "\\1" text "${text}")
  string(APPEND script "${text}")
endforeach()

string(SHA256 script_hash "${script}")
string(SHA256 style_hash "${style}")
base64_of("${script_hash}" script_hash)
base64_of("${style_hash}" style_hash)
string(REPLACE "@SCRIPT_HASH@" "${script_hash}" page "${page}")
string(REPLACE "@STYLE_HASH@" "${style_hash}" page "${page}")
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")

string(FIND "${page}" "@DATA@" at)
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
file(WRITE "${OUTPUT}" "// Made by inline_page.cmake.
#include \"${HEADER}\"

namespace perfleet {

const std::string_view ${NAME}BeforeData{
${before}};
const std::string_view ${NAME}BehindData{
${behind}};

}  // namespace perfleet
")
