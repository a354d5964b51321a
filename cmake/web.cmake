# The web pages inside the program: built with npm and esbuild (or, with -DMUSTER_WEB=OFF, one page that says they are missing),
# compressed, and embedded into room_api by one generated source file. cmake/embed.cmake does the work at build time.
set(web_out ${CMAKE_BINARY_DIR}/web)
set(web_depends ${CMAKE_SOURCE_DIR}/cmake/embed.cmake)
find_program(GZIP_PROGRAM gzip REQUIRED)
if(MUSTER_WEB AND NOT EXISTS ${CMAKE_SOURCE_DIR}/web/build.mjs)
  message(FATAL_ERROR "web/build.mjs is missing; configure with -DMUSTER_WEB=OFF to build without the pages")
endif()
if(MUSTER_WEB)
  find_program(NODE_PROGRAM node)
  find_program(NPM_PROGRAM npm)
  if(NOT NODE_PROGRAM OR NOT NPM_PROGRAM)
    message(FATAL_ERROR "node and npm are needed for the web pages (packages nodejs and npm); "
      "configure with -DMUSTER_WEB=OFF to build without them")
  endif()
  file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/src/*)
  list(APPEND web_depends ${web_sources} ${CMAKE_SOURCE_DIR}/web/index.html ${CMAKE_SOURCE_DIR}/web/build.mjs
    ${CMAKE_SOURCE_DIR}/web/package.json ${CMAKE_SOURCE_DIR}/web/package-lock.json)
endif()
add_custom_command(
  OUTPUT ${web_out}/assets.cpp
  COMMAND ${CMAKE_COMMAND} -DWEB=${MUSTER_WEB} -DSOURCE=${CMAKE_SOURCE_DIR}/web -DOUT=${web_out} -DNODE=${NODE_PROGRAM}
          -DNPM=${NPM_PROGRAM} -DGZIP=${GZIP_PROGRAM} -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${web_depends}
  COMMENT "web pages"
  VERBATIM)
target_sources(room_api PRIVATE ${web_out}/assets.cpp)
