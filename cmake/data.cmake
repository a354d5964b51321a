# Embeds the facts of data/ (CSV, YAML and JSON), the files for Slurm and what measures a GPU in room_ingest, which hands them out
# by path: ingest/embedded.h. The assembler includes the bytes as they are, so nothing is generated that has to be compiled.
file(GLOB_RECURSE MUSTER_DATA_FILES CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/data
     ${CMAKE_SOURCE_DIR}/data/*.csv ${CMAKE_SOURCE_DIR}/data/*.yaml ${CMAKE_SOURCE_DIR}/data/*.json
     ${CMAKE_SOURCE_DIR}/data/emit/slurm/* ${CMAKE_SOURCE_DIR}/data/sweep/*.py)
list(SORT MUSTER_DATA_FILES)
set(bytes "")
set(table "")
set(MUSTER_EMBEDDED_FROM "")
set(n 0)
foreach(file ${MUSTER_DATA_FILES})
  string(APPEND bytes ".Lname${n}: .ascii \"${file}\"\n.Lname${n}_end:\n.Lfile${n}: .incbin \"data/${file}\"\n.Lfile${n}_end:\n")
  string(APPEND table "  .quad .Lname${n}, .Lname${n}_end - .Lname${n}, .Lfile${n}, .Lfile${n}_end - .Lfile${n}\n")
  list(APPEND MUSTER_EMBEDDED_FROM ${CMAKE_SOURCE_DIR}/data/${file})
  math(EXPR n "${n} + 1")
endforeach()
set(MUSTER_EMBEDDED ${CMAKE_BINARY_DIR}/embedded_data.S)
file(CONFIGURE OUTPUT ${MUSTER_EMBEDDED} @ONLY CONTENT
"  .section .rodata
${bytes}
  .section .data.rel.ro, \"aw\"
  .balign 8
  .globl muster_embedded_files
  .hidden muster_embedded_files
muster_embedded_files:
${table}  .globl muster_embedded_files_end
  .hidden muster_embedded_files_end
muster_embedded_files_end:
  .section .note.GNU-stack, \"\", %progbits
")
target_sources(room_ingest PRIVATE ${MUSTER_EMBEDDED})
set_source_files_properties(${MUSTER_EMBEDDED} PROPERTIES
  OBJECT_DEPENDS "${MUSTER_EMBEDDED_FROM}" COMPILE_OPTIONS "-I${CMAKE_SOURCE_DIR}")
