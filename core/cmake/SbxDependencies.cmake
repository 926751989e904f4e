# SPDX-License-Identifier: MIT
#
# Finds Lua 5.4, libuv, cJSON and http-parser and offers them as sbx::lua,
# sbx::uv, sbx::cjson and sbx::http_parser. A caller such as LuaRocks may name
# the places instead: LUA_INCDIR, LIBUV_INCDIR, LIBUV_LIBDIR, CJSON_INCDIR,
# CJSON_LIBDIR, HTTP_PARSER_INCDIR, HTTP_PARSER_LIBDIR.

find_package(PkgConfig QUIET)
find_package(Threads REQUIRED)

# sbx_find(<name> <prefix> <header> <library;names> <pkg-config names...>)
function(sbx_find name upper header libraries)
  if(PKG_CONFIG_FOUND)
    pkg_search_module(PC_${upper} QUIET ${ARGN})
  endif()
  find_path(SBX_${upper}_INCLUDE "${header}"
            HINTS "${${upper}_INCDIR}" ${PC_${upper}_INCLUDE_DIRS})
  find_library(SBX_${upper}_LIBRARY NAMES ${libraries}
               HINTS "${${upper}_LIBDIR}" ${PC_${upper}_LIBRARY_DIRS})
  mark_as_advanced(SBX_${upper}_INCLUDE SBX_${upper}_LIBRARY)
  add_library(sbx_dep_${name} INTERFACE)
  add_library(sbx::${name} ALIAS sbx_dep_${name})
  if(SBX_${upper}_INCLUDE)
    target_include_directories(sbx_dep_${name} SYSTEM INTERFACE
                               "${SBX_${upper}_INCLUDE}")
  else()
    message(FATAL_ERROR "${header} not found: install ${ARGN}")
  endif()
  if(SBX_${upper}_LIBRARY)
    target_link_libraries(sbx_dep_${name} INTERFACE
                          "${SBX_${upper}_LIBRARY}" Threads::Threads)
  endif()
endfunction()

sbx_find(uv LIBUV uv.h "uv" libuv)
sbx_find(cjson CJSON cjson/cJSON.h "cjson" libcjson)
sbx_find(http_parser HTTP_PARSER http_parser.h "http_parser" libhttp_parser)
sbx_find(lua LUA lua.h "lua5.4;lua-5.4;lua54;lua" lua5.4 lua-5.4 lua54 lua)

foreach(dep LIBUV CJSON HTTP_PARSER)
  if(NOT SBX_${dep}_LIBRARY)
    message(FATAL_ERROR "the library of ${dep} was not found")
  endif()
endforeach()
if(NOT SBX_LUA_LIBRARY) # the module needs only the headers
  set(SBX_EMBED OFF)
  set(SBX_TESTS OFF)
endif()
