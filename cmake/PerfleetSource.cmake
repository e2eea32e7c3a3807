# Foreign sources that are compiled for targets. They aren't part of this repository: they come from Debian's source
# packages, with Debian's patches, through a sources file and lists of their own below the build folder; apt's own state
# on this machine doesn't change. Without one of them the parts that need it are off, and everything else is built.

# perfleet_find_source(<variable> PACKAGE VERSION FILE <a file in it> OPTION <cache variable> FOR <purpose>): the folder
# of the source package; empty: there is none, and a message states the reason.
function(perfleet_find_source variable)
  cmake_parse_arguments(SOURCE "" "PACKAGE;VERSION;FILE;OPTION;FOR" "" ${ARGN})
  set(${variable} "" PARENT_SCOPE)
  set(given "${${SOURCE_OPTION}}")
  if(given STREQUAL "OFF")
    return()
  elseif(given)
    if(NOT EXISTS "${given}/${SOURCE_FILE}")
      message(FATAL_ERROR "${SOURCE_OPTION}: ${given} is no source tree of ${SOURCE_PACKAGE} (${SOURCE_FILE} is missing)")
    endif()
    set(${variable} "${given}" PARENT_SCOPE)
    return()
  endif()
  set(folder "${CMAKE_BINARY_DIR}/${SOURCE_PACKAGE}")
  set(tree "${folder}/${SOURCE_PACKAGE}-${SOURCE_VERSION}")
  if(NOT EXISTS "${tree}/${SOURCE_FILE}" AND NOT EXISTS "${folder}/failed")
    perfleet_fetch_source(${SOURCE_PACKAGE} "${SOURCE_VERSION}" "${folder}" "${tree}")
  endif()
  if(EXISTS "${tree}/${SOURCE_FILE}")
    set(${variable} "${tree}" PARENT_SCOPE)
    return()
  endif()
  message(STATUS "Without ${SOURCE_FOR}: ${SOURCE_PACKAGE} ${SOURCE_VERSION} couldn't be fetched (${folder}/failed says why; "
                 "remove it to try again, or give -D${SOURCE_OPTION}=DIR)")
endfunction()

function(perfleet_fetch_source package version folder tree)
  find_program(APT_GET_PROGRAM apt-get)
  file(REMOVE_RECURSE "${folder}")
  file(MAKE_DIRECTORY "${folder}/lists/partial" "${folder}/cache/archives/partial")
  if(NOT APT_GET_PROGRAM)
    file(WRITE "${folder}/failed" "apt-get isn't installed\n")
    return()
  endif()
  # From the servers of this machine's packages, if they are Debian's.
  set(mirror "http://deb.debian.org/debian")
  foreach(list IN ITEMS /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list)
    if(EXISTS "${list}")
      file(STRINGS "${list}" lines REGEX "^(URIs:|deb ).*/debian/?( |$)")
      if(lines MATCHES "([a-z]+:/[^ ;]*/debian)/?( |;|$)")
        set(mirror "${CMAKE_MATCH_1}")
        break()
      endif()
    endif()
  endforeach()
  file(WRITE "${folder}/sources.list"
       "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror} bookworm main\n")
  execute_process(COMMAND id -un OUTPUT_VARIABLE user OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(apt "${APT_GET_PROGRAM}" -q -o "Dir::Etc::SourceList=${folder}/sources.list" -o Dir::Etc::SourceParts=/dev/null
          -o "Dir::State::Lists=${folder}/lists" -o "Dir::Cache=${folder}/cache" -o "APT::Sandbox::User=${user}"
          -o Acquire::Retries=0 -o Acquire::http::Timeout=5 -o Acquire::https::Timeout=5 -o APT::Update::Error-Mode=any)
  message(STATUS "Fetching ${package} ${version} (Debian's source package)")
  execute_process(COMMAND ${apt} update
                  TIMEOUT 60 RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(result EQUAL 0)
    execute_process(COMMAND ${apt} source "${package}=${version}" WORKING_DIRECTORY "${folder}"
                    TIMEOUT 60 RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
  endif()
  file(GLOB unpacked "${folder}/${package}-*")
  file(REMOVE_RECURSE "${folder}/lists" "${folder}/cache")
  if(result EQUAL 0 AND IS_DIRECTORY "${unpacked}")
    file(RENAME "${unpacked}" "${tree}")
  else()
    file(WRITE "${folder}/failed" "${result}\n${said}")
  endif()
endfunction()

# perfleet_source_flags(<variable> <C compiler>): the compiler's own headers and our few of a libc.
function(perfleet_source_flags variable compiler)
  execute_process(COMMAND "${compiler}" -print-file-name=include OUTPUT_VARIABLE own_headers OUTPUT_STRIP_TRAILING_WHITESPACE)
  get_filename_component(libc "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../target-collector/network/lwip/libc" ABSOLUTE)
  set(${variable} -ffreestanding -nostdinc -isystem "${own_headers}" "-I${libc}" PARENT_SCOPE)
endfunction()

# perfleet_source_objects(<variable> FOLDER <name> COMPILER <C compiler> FLAGS … OWN … SOURCES …): objects for another
# machine, with those of its C++ code's flags that C has, and OWN.
function(perfleet_source_objects variable)
  cmake_parse_arguments(OBJECTS "" "FOLDER;COMPILER" "FLAGS;OWN;SOURCES" ${ARGN})
  list(FILTER OBJECTS_FLAGS EXCLUDE REGEX "^-(std=|O|W|I|D|flto|fno-(exceptions|rtti|threadsafe-statics)$)")
  perfleet_cross_objects(objects FOLDER "${OBJECTS_FOLDER}" COMPILER "${OBJECTS_COMPILER}" FLAGS ${OBJECTS_FLAGS} ${OBJECTS_OWN}
                         SOURCES ${OBJECTS_SOURCES})
  set(${variable} "${objects}" PARENT_SCOPE)
endfunction()
