# Functions that define modules, programs and tests. One static library a module; its links are private unless its
# headers need them.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Without these ccache stores nothing that was compiled with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER env "CCACHE_SLOPPINESS=pch_defines,time_macros" "${CCACHE_PROGRAM}")
endif()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# Nearly two hundred programs are linked: by the fast linker, if there is one.
find_program(LLD_PROGRAM ld.lld)
if(LLD_PROGRAM)
  add_link_options(-fuse-ld=lld)
endif()

set(PERFLEET_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (address,undefined or thread)")

add_library(perfleet_flags INTERFACE)
target_include_directories(perfleet_flags INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_options(perfleet_flags INTERFACE -fno-omit-frame-pointer)
if(PERFLEET_FUZZ)
  target_compile_options(perfleet_flags INTERFACE -fsanitize=fuzzer-no-link,address,undefined
                                                  -fno-sanitize-recover=all)
  target_link_options(perfleet_flags INTERFACE -fsanitize=address,undefined)
else()
  target_compile_options(perfleet_flags INTERFACE -Wall -Wextra -Wconversion -Wsign-compare -Wshadow -Werror)
endif()
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # x86-64-v2: every server since 2009; gives the CRC-32C instruction.
  target_compile_options(perfleet_flags INTERFACE -march=x86-64-v2)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  target_compile_options(perfleet_flags INTERFACE -march=armv8-a+crc)
endif()
if(PERFLEET_SANITIZE)
  # GCC 12 takes reads that its sanitizers add for reads of uninitialised data.
  target_compile_options(perfleet_flags INTERFACE -fsanitize=${PERFLEET_SANITIZE} -fno-sanitize-recover=all
                                                  -Wno-maybe-uninitialized)
  target_link_options(perfleet_flags INTERFACE -fsanitize=${PERFLEET_SANITIZE})
endif()

# The standard headers that most modules include, compiled once; each source names what it uses all the same, and sanitized
# builds and clang-tidy read every source by itself.
if(PERFLEET_SANITIZE)
  set(PERFLEET_PRECOMPILED_MODULES OFF)
else()
  set(PERFLEET_PRECOMPILED_MODULES ON)
  file(CONFIGURE OUTPUT module_headers.cpp CONTENT "// Owns the precompiled headers of the modules.\n")
  add_library(perfleet_module_headers STATIC EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/module_headers.cpp")
  target_link_libraries(perfleet_module_headers PRIVATE perfleet_flags)
  # In precompiled code GCC 12 doesn't recognise system headers any more, and warns of bounds that it guessed. Builds
  # with sanitizers keep these warnings.
  add_library(perfleet_precompiled_flags INTERFACE)
  target_compile_options(perfleet_precompiled_flags INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-restrict>)
  target_link_libraries(perfleet_module_headers PRIVATE perfleet_precompiled_flags)
  target_precompile_headers(perfleet_module_headers PRIVATE
    <algorithm> <array> <atomic> <chrono> <cstring> <deque> <functional> <map> <memory> <mutex> <optional> <span> <string>
    <string_view> <unordered_map> <utility> <variant> <vector>)
endif()

# Sources of a module or a program are compiled several at a time: their common headers and templates are compiled once.
# Each compiles by itself all the same (clang-tidy reads them one by one, the debug preset compiles them so), and a name
# in an unnamed namespace is the module's: a name that two sources need has a header. Tests whose names would collide
# are in a namespace named as their file.
if(NOT DEFINED CMAKE_UNITY_BUILD)
  set(CMAKE_UNITY_BUILD ON)
endif()

# perfleet_module(<name> [FOLDERS …] [EXCEPT …] [SOURCES …] [LINKS …] [PUBLIC_LINKS …]): the library perfleet_<name>. It
# has all sources of its folders, except tests and those named by EXCEPT.
function(perfleet_module name)
  cmake_parse_arguments(MODULE "" "" "FOLDERS;EXCEPT;SOURCES;LINKS;PUBLIC_LINKS" ${ARGN})
  list(TRANSFORM MODULE_FOLDERS APPEND "/*.cpp")
  if(MODULE_FOLDERS)
    file(GLOB sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" ${MODULE_FOLDERS})
    list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
    list(REMOVE_ITEM sources ${MODULE_EXCEPT})
  endif()
  add_library(perfleet_${name} STATIC ${sources} ${MODULE_SOURCES})
  target_link_libraries(perfleet_${name} PUBLIC perfleet_flags ${MODULE_PUBLIC_LINKS} PRIVATE ${MODULE_LINKS})
  if(PERFLEET_PRECOMPILED_MODULES)
    target_precompile_headers(perfleet_${name} REUSE_FROM perfleet_module_headers)
    target_link_libraries(perfleet_${name} PRIVATE $<BUILD_INTERFACE:perfleet_precompiled_flags>)
  endif()
endfunction()

# perfleet_vectorise(<source>…): for sources whose cost is a loop over columns. Precompiled headers belong to one level
# only.
function(perfleet_vectorise)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:RelWithDebInfo,Release>:-O3>"
                                                 SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# perfleet_program(<output name> SOURCES … LINKS …): an installed program in build/<preset>/bin.
function(perfleet_program name)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${PROGRAM_SOURCES})
  target_link_libraries(${name} PRIVATE perfleet_flags perfleet_version ${PROGRAM_LINKS})
  # A program only wires: its work is in modules.
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  target_compile_definitions(${name} PRIVATE PERFLEET_VERSION="${PERFLEET_VERSION}")
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# Flags of tests: for fast compilation, because the code under test is optimised as it is shipped. GCC first frees
# memory at 1 GB: a sixth less time.
add_library(perfleet_test_flags INTERFACE)
target_compile_options(perfleet_test_flags INTERFACE
  $<$<CONFIG:RelWithDebInfo>:-O0> $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess;--param=ggc-min-heapsize=1000000>)

# perfleet_test_headers(<source>): the headers that most tests include, compiled once. Each test names what it uses
# all the same. Before the first perfleet_test_program and perfleet_test.
function(perfleet_test_headers source)
  add_executable(perfleet_test_headers EXCLUDE_FROM_ALL ${source})
  target_link_libraries(perfleet_test_headers PRIVATE perfleet_flags perfleet_test_flags GTest::gtest)
  set_target_properties(perfleet_test_headers PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/test-bin")
  target_precompile_headers(perfleet_test_headers PRIVATE
    <algorithm> <array> <atomic> <chrono> <csignal> <cstdlib> <cstring> <filesystem> <fstream> <functional>
    <gtest/gtest.h> <map> <memory> <optional> <random> <set> <sstream> <string> <string_view> <thread> <vector>)
endfunction()

# perfleet_test_program(<name> SOURCES … LINKS …): a program that tests run, in build/<preset>/test-bin.
function(perfleet_test_program name)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${PROGRAM_SOURCES})
  # GoogleTest for its definitions: without them the precompiled headers wouldn't fit.
  target_link_libraries(${name} PRIVATE perfleet_flags perfleet_test_flags ${PROGRAM_LINKS} perfleet_golden GTest::gtest)
  target_precompile_headers(${name} REUSE_FROM perfleet_test_headers)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/test-bin" UNITY_BUILD_BATCH_SIZE 16)
endfunction()

# perfleet_test(<name> SOURCES … LINKS … [TIMEOUT s] [LOCK name]): a GoogleTest program, each of its tests a CTest test.
# With a LOCK none runs beside another test with the same one. HOME is the tests' own: perf's cache in the user's
# (~/.debug) would name functions that a test expects to be unknown. If tests are not built this does nothing. Tests
# with parameters keep GoogleTest's names, because a value may contain an address and CTest finds a test's time by its
# name.
function(perfleet_test name)
  if(NOT PERFLEET_TESTS)
    return()
  endif()
  cmake_parse_arguments(TEST "" "TIMEOUT;LOCK" "SOURCES;LINKS" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 600)
  endif()
  set(lock)
  if(TEST_LOCK)
    set(lock RESOURCE_LOCK ${TEST_LOCK})
  endif()
  perfleet_test_program(${name} SOURCES ${TEST_SOURCES} LINKS ${TEST_LINKS} GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
                       PROPERTIES TIMEOUT ${TEST_TIMEOUT} ENVIRONMENT HOME=${CMAKE_BINARY_DIR}/home ${lock})
endfunction()
