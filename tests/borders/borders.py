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


def smallest_header(source, room):
    """A header of the room as other rooms would include it, or its README where it has no header yet."""
    headers = glob.glob(os.path.join(source, 'src', room, '**', '*.h'), recursive=True)
    best = min(headers, key=lambda h: (os.path.getsize(h), h)) if headers else os.path.join(source, 'src', room, 'README.md')
    return os.path.relpath(best, os.path.join(source, 'src'))


def compile_text(compiler, doors, text):
    command = [compiler, '-std=c++20', '-fsyntax-only', '-x', 'c++', '-'] + [f'-I{d}' for d in doors]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, cwd='/')
    return done.returncode == 0, done.stderr


def check_room(compiler, source, table, doors, room):
    """Lines to print about one room, and how many pairs they cover."""
    header = {r: smallest_header(source, r) for r in table}
    allowed = [r for r in [room] + table[room] if header[r].endswith('.h')]
    works, errors = compile_text(compiler, doors[room], ''.join(f'#include "{header[r]}"\n' for r in allowed))
    lines = [f"{'ok' if works else 'not ok'} - {room} may include {', '.join(table[room]) or 'itself only'}"]
    if not works:
        lines.insert(0, errors)
    forbidden = [r for r in table if r != room and r not in table[room]]
    leaks = []
    for other in forbidden:
        compiled, errors = compile_text(compiler, doors[room], f'#include "{header[other]}"\n')
        if compiled or f'{header[other]}: No such file' not in errors:
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
