#!/usr/bin/env python3
"""borders.py COMPILER DOORS SOURCE: shows that the build keeps the rooms apart, for every ordered pair of rooms.

DOORS is written by CMake: a line `room: include folders...` for each room, read from the room's own target. For each room, one
file that includes a header of every room it may use must compile, and for each room it may not use, a file with that one include
must fail because the header is not found.
"""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys


def read_table(source):
    with open(os.path.join(source, 'cmake/rooms.cmake'), encoding='utf-8') as f:
        return {m[1]: m[2].split() for m in re.finditer(r'^set\(MAY_USE_(\w+)([^)]*)\)', f.read(), re.M)}


def read_headers(source, room):
    """{path as others include it: size} of the room's headers, or its README where it has none yet."""
    paths = glob.glob(os.path.join(source, 'src', room, '**', '*.h'), recursive=True)
    return {os.path.relpath(p, os.path.join(source, 'src')): os.path.getsize(p) for p in paths} or {f'{room}/README.md': 0}


def rooms_behind(source, header, seen):
    """The rooms that a header's includes lead to; a header may be for its own room only because of what it includes."""
    if header not in seen:
        seen[header] = {header.split('/')[0]}
        if not header.endswith('.h'):
            return seen[header]
        with open(os.path.join(source, 'src', header), encoding='utf-8') as f:
            for found in re.findall(r'^\s*#\s*include\s*"([^"]+)"', f.read(), re.M):
                if os.path.exists(os.path.join(source, 'src', found)):
                    seen[header] |= rooms_behind(source, found, seen)
    return seen[header]


def compile_text(compiler, doors, text):
    command = [compiler, '-std=c++20', '-fsyntax-only', '-x', 'c++', '-'] + [f'-I{d}' for d in doors]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, cwd='/')
    return done.returncode == 0, done.stderr


def check_room(compiler, source, table, doors, room):
    """Lines to print about one room, and how many pairs they cover."""
    may, seen = {room, *table[room]}, {}
    headers = {r: read_headers(source, r) for r in table}

    def smallest(other, usable):
        return min((size, h) for h, size in headers[other].items() if usable(h))[1]

    def fits(header):
        return rooms_behind(source, header, seen) <= may

    shut = [r for r in sorted(may) if not any(map(fits, headers[r]))]
    probe = [smallest(r, fits) for r in sorted(may) if r not in shut]
    works, errors = compile_text(compiler, doors[room], ''.join(f'#include "{h}"\n' for h in probe if h.endswith('.h')))
    lines = [f"{'ok' if works and not shut else 'not ok'} - {room} may include {', '.join(table[room]) or 'itself only'}"]
    if shut:
        lines.insert(0, f'every header of {", ".join(shut)} includes a room that {room} may not use')
    if not works:
        lines.insert(0, errors)
    forbidden = [r for r in table if r not in may]
    leaks = []
    for other in forbidden:
        header = smallest(other, lambda h: True)
        compiled, errors = compile_text(compiler, doors[room], f'#include "{header}"\n')
        if compiled or f'{header}: No such file' not in errors:
            leaks.append(other)
    if forbidden:
        lines.append(f"{'not ok' if leaks else 'ok'} - {room} cannot include {', '.join(leaks or forbidden)}")
    return lines, len(table[room]) + len(forbidden)


def main(compiler, doors_file, source):
    table = read_table(source)
    with open(doors_file, encoding='utf-8') as f:
        doors = {room: folders.split() for room, _, folders in (line.strip().partition(':') for line in f if line.strip())}
    if set(doors) != set(table):
        print(f'not ok - every room is built: {sorted(set(doors) ^ set(table))}')
        return 1
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(lambda room: check_room(compiler, source, table, doors, room), table))
    lines = [line for room_lines, _ in results for line in room_lines]
    print('\n'.join(lines))
    print(f'pairs of rooms tested: {sum(n for _, n in results)}')
    return 1 if any(line.startswith('not ok') for line in lines) else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:4]))
