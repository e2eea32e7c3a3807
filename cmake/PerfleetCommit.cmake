# The source's commit, for --version: that of the git checkout; else the one in the file .commit, which git archive
# fills in; else none. PERFLEET_COMMIT takes precedence over both. As a script it writes the source of version_line(),
# only if that changes:
#
#   cmake -DSOURCE=DIR -DPERFLEET_VERSION=V -DPERFLEET_COMMIT=C -DOUTPUT=FILE -P cmake/PerfleetCommit.cmake

# perfleet_commit(<variable> <source folder>): twelve digits; empty: not known.
function(perfleet_commit variable source)
  set(commit "${PERFLEET_COMMIT}")
  # A tarball that is unpacked within another repository isn't of that repository's commit.
  if(NOT commit AND EXISTS "${source}/.git")
    # Packages are also built as root in folders of other users; git only reads here.
    execute_process(COMMAND git -c "safe.directory=*" -C "${source}" rev-parse HEAD
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  if(NOT commit AND EXISTS "${source}/.commit")
    file(STRINGS "${source}/.commit" commit LIMIT_COUNT 1)
  endif()
  if(NOT commit MATCHES "^[0-9a-f]+$")
    set(commit "")
  else()
    string(SUBSTRING "${commit}" 0 12 commit)
  endif()
  set(${variable} "${commit}" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  perfleet_commit(commit "${SOURCE}")
  set(IN_BRACKETS "")
  if(commit)
    set(IN_BRACKETS " (${commit})")
  endif()
  configure_file("${SOURCE}/daemon/command-line/version.cpp.in" "${OUTPUT}" @ONLY)
  return()
endif()

set(PERFLEET_COMMIT "" CACHE STRING "The commit that --version shows; default: that of the checkout, else what .commit says")

# Each commit and checkout writes a line to the log of HEAD. Without one, the commit is that of the configuration.
set(head_log "")
if(EXISTS "${CMAKE_SOURCE_DIR}/.git")
  execute_process(COMMAND git -c "safe.directory=*" -C "${CMAKE_SOURCE_DIR}" rev-parse --path-format=absolute --git-path logs/HEAD
                  OUTPUT_VARIABLE head_log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT EXISTS "${head_log}")
    set(head_log "")
  endif()
endif()
set(write_version "${CMAKE_COMMAND}" "-DSOURCE=${CMAKE_SOURCE_DIR}" "-DPERFLEET_VERSION=${PERFLEET_VERSION}"
    "-DPERFLEET_COMMIT=${PERFLEET_COMMIT}" "-DOUTPUT=${CMAKE_BINARY_DIR}/version.cpp" -P "${CMAKE_CURRENT_LIST_FILE}")
execute_process(COMMAND ${write_version} COMMAND_ERROR_IS_FATAL ANY)
add_custom_command(OUTPUT "${CMAKE_BINARY_DIR}/version.cpp" COMMAND ${write_version}
                   DEPENDS ${head_log} "${CMAKE_CURRENT_LIST_FILE}" "${CMAKE_SOURCE_DIR}/daemon/command-line/version.cpp.in"
                   VERBATIM COMMENT "Writing the commit")
add_library(perfleet_version OBJECT "${CMAKE_BINARY_DIR}/version.cpp")
target_include_directories(perfleet_version PRIVATE "${CMAKE_SOURCE_DIR}")
